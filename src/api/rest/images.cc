// Images: pulled, loaded, imported, listed, named, checked and removed. They are the server's, for all of its projects.
#include "image/images.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "api/rest/api.h"
#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/request_json.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/sse.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::api {
namespace {

Json image_json(const ImageInfo& info) {
  const StoredImage& image = info.image;
  Json layers = Json::array();
  for (const StoredLayer& layer : image.layers)
    layers.push_back({{"digest", layer.digest},
                      {"diff_id", layer.diff_id},
                      {"size", layer.size},
                      {"unpacked_size", layer.unpacked_size},
                      {"entries", layer.entries}});
  Json env = Json::object();
  for (const auto& [name, value] : image.config.env) env[name] = value;
  Json labels = Json::object();
  for (const auto& [name, value] : image.config.labels) labels[name] = value;
  return {{"name", info.names.empty() ? image.digest : info.names.front()},
          {"names", info.names},
          {"digest", image.digest},
          {"description", ""},
          {"platform", to_text(image.config.platform)},
          {"size", image.size()},
          {"unpacked_size", image.unpacked_size()},
          {"layers", std::move(layers)},
          {"config",
           {{"env", std::move(env)},
            {"entrypoint", image.config.entrypoint},
            {"cmd", image.config.cmd},
            {"cwd", text_or_null(image.config.cwd)},
            {"user", text_or_null(image.config.user)},
            {"labels", std::move(labels)}}},
          {"notes", image.notes},
          {"sandboxes", info.users},
          {"created_at", text_or_null(image.config.created)},
          {"stored_at", time_json(image.stored_ms)}};
}

// This machine's own userland has nothing of what the others have.
Json host_json() {
  return {{"name", "host"},
          {"names", {"host"}},
          {"digest", nullptr},
          {"description", "The programs of this machine."},
          {"platform", to_text(own_platform())},
          {"size", 0},
          {"unpacked_size", 0},
          {"layers", Json::array()},
          {"config",
           {{"env", Json::object()},
            {"entrypoint", Json::array()},
            {"cmd", Json::array()},
            {"cwd", nullptr},
            {"user", "user"},
            {"labels", Json::object()}}},
          {"notes", Json::array()},
          {"sandboxes", 0},
          {"created_at", nullptr},
          {"stored_at", nullptr}};
}

// What is in the way is not the image's fault, and mended elsewhere.
template <typename T>
Result<T> with_advice(Result<T> done) {
  if (done || done.error().errnum() != ENOSPC) return done;
  return fail(
      std::move(done.error())
          .hint("make room where the server's state folder is; `cove image prune --all` removes what no sandbox uses"));
}

// It is there, but has nothing that could be done to it.
Checked<void> refuse_host(const Call& call, std::string_view why) {
  if (!is_host_image(call.captured("image"))) return {};
  return refuse(409, "conflict", concat("the image host is this machine itself: ", why));
}

void note(Call& call, const std::string& kind, const Json& data) {
  call.engine().note(call.caller, kind, "", "", dump(data));
}

Outcome list_images(Call& call) {
  Json images = Json::array({host_json()});
  for (const ImageInfo& image : call.engine().images().list()) images.push_back(image_json(image));
  return call.respond(200, dump(Json{{"images", std::move(images)}}));
}

Outcome get_image(Call& call) {
  if (call.captured("image") == "host") return call.respond(200, dump(host_json()));
  return call.respond(200, dump(image_json(COVE_TRY(call.engine().images().find(call.captured("image"))))));
}

Result<RegistryLogin> take_login(Fields& fields) {
  RegistryLogin login;
  auto nested = COVE_TRY(fields.object("login"));
  if (!nested) return login;
  login.username = COVE_TRY(nested->text("username")).value_or("");
  login.password = COVE_TRY(nested->text("password")).value_or("");
  login.token = COVE_TRY(nested->text("token")).value_or("");
  COVE_TRY(nested->finish());
  if (login.username.find(':') != login.username.npos)
    return fail(nested->wrong("username", "must not have a colon in it"));
  return login;
}

Outcome answer_pull(Call& call, const Operation& operation) {
  using Wake = http::Exchange::Wake;
  while (!operation.wait(std::chrono::milliseconds(200))) {
    Wake wake = call.exchange.wait(-1, std::chrono::milliseconds(0));
    if (wake == Wake::Gone) return {};
    if (wake == Wake::Stopping)
      return refuse(Problem(503, "unavailable", "the server stops before the image is there")
                        .advise("pull it again: what was fetched is kept"));
  }
  Checked<Json> outcome = operation.outcome();
  if (!outcome) return refuse(outcome.error());
  return call.respond(200, dump(*outcome));
}

// The work goes on without the caller; ?wait=true stays for its outcome.
Outcome pull_image(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  Images::PullOrder order;
  order.reference = COVE_TRY(required(fields, "reference", fields.text("reference")));
  if (auto platform = COVE_TRY(fields.text("platform")))
    order.platform = COVE_TRY_NOTE("'platform'", parse_platform(*platform));
  order.login = COVE_TRY(take_login(fields));
  if (!call.caller.local) order.reach = Reach::Public;
  COVE_TRY(fields.finish());
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  std::string name = to_text(COVE_TRY_NOTE("pull", call.engine().images().reference_of(order.reference)));
  engine::Engine& engine = call.engine();
  Caller caller = call.caller;
  caller.connection = caller.peer = -1;
  auto work = [&engine, caller, order = std::move(order)](Operation& operation) -> Checked<Json> {
    Result<ImageInfo> image = with_advice(engine.images().pull(order, operation.progress));
    if (!image) return refuse(Problem(image.error()));
    engine.note(caller, "image.pulled", "", "",
                dump(Json{{"name", operation.target}, {"digest", image->image.digest}}));
    return image_json(*image);
  };
  std::shared_ptr<Operation> operation =
      COVE_TRY(call.api.operations.start("pull", name, call.caller.project, std::move(work)));
  if (!wait)
    return call.respond(202, dump(operation->json()), {{"Location", concat("/v1/operations/", operation->id)}});
  return answer_pull(call, *operation);
}

// The body, in a file without a name.
Checked<UniqueFd> receive(Call& call) {
  UniqueFd file = COVE_TRY(call.engine().images().scratch_file());
  std::vector<char> piece(256 << 10);
  uint64_t room = call.engine().config().images.max_size;
  while (true) {
    Result<size_t> count = call.exchange.read(piece);
    if (!count) return refuse(body_problem(count.error()));
    if (*count == 0) break;
    if (*count > room)
      return refuse(Problem(413, "too_large",
                            concat("the archive is larger than ", format_bytes(call.engine().config().images.max_size)))
                        .advise("the server's setting images.max_size allows more"));
    room -= *count;
    COVE_TRY_NOTE("keep the archive", with_advice(sys::write_all(file.get(), {piece.data(), *count})));
  }
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return refuse(Problem(Error::from_errno(errno, "lseek")));
  return file;
}

Outcome load_images(Call& call) {
  UniqueFd archive = COVE_TRY(receive(call));
  Json images = Json::array();
  for (const ImageInfo& image : COVE_TRY(with_advice(call.engine().images().load(archive.get())))) {
    note(call, "image.loaded", {{"names", image.names}, {"digest", image.image.digest}});
    images.push_back(image_json(image));
  }
  return call.respond(200, dump(Json{{"images", std::move(images)}}));
}

Outcome import_image(Call& call) {
  Images::ImportOrder order;
  order.name = text_parameter(call.request(), "name");
  if (order.name.empty()) return invalid("'name' is missing: what the image is to be called");
  std::string name = to_text(COVE_TRY_NOTE("'name'", parse_reference(order.name)));
  if (is_host_image(order.name)) return invalid("'name': the name 'host' is taken: it is this machine's own userland");
  UniqueFd archive = COVE_TRY(receive(call));
  ImageInfo image = COVE_TRY(with_advice(call.engine().images().import(archive.get(), order)));
  note(call, "image.imported", {{"name", name}, {"digest", image.image.digest}});
  return call.respond(201, dump(image_json(image)), {{"Location", concat("/v1/images/", image.image.digest)}});
}

Outcome tag_image(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::string name = COVE_TRY(required(fields, "name", fields.text("name")));
  COVE_TRY(fields.finish());
  COVE_TRY(refuse_host(call, "it can have no other name"));
  ImageInfo image = COVE_TRY(call.engine().images().tag(call.captured("image"), name));
  note(call, "image.tagged", {{"name", name}, {"digest", image.image.digest}});
  return call.respond(200, dump(image_json(image)));
}

Json removed_json(const Images::Removed& removed) {
  return {{"names", removed.names}, {"digests", removed.digests}, {"bytes", removed.bytes}};
}

Outcome remove_image(Call& call) {
  bool force = COVE_TRY(flag_parameter(call.request(), "force"));
  COVE_TRY(refuse_host(call, "it cannot be removed"));
  Images::Removed removed = COVE_TRY(call.engine().images().remove(
      call.captured("image"), force ? Images::Removal::Forced : Images::Removal::Careful));
  note(call, "image.removed", removed_json(removed));
  return call.respond(200, dump(removed_json(removed)));
}

Outcome prune_images(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  bool all = COVE_TRY(fields.flag("all")).value_or(false);
  COVE_TRY(fields.finish());
  Images::Removed removed =
      COVE_TRY(call.engine().images().prune(all ? Images::Prune::Unused : Images::Prune::Nameless));
  note(call, "image.pruned", removed_json(removed));
  return call.respond(200, dump(removed_json(removed)));
}

Outcome verify_image(Call& call) {
  COVE_TRY(refuse_host(call, "there is nothing that it could be compared with"));
  std::vector<std::string> problems = COVE_TRY(call.engine().images().verify(call.captured("image")));
  return call.respond(200, dump(Json{{"ok", problems.empty()}, {"problems", problems}}));
}

}  // namespace

void add_images(Routes& routes) {
  routes.add("GET", "/v1/images", kRead, list_images);
  routes.add("POST", "/v1/images", kRun, pull_image, {"wait"});
  routes.add("POST", "/v1/images/load", kAdmin, load_images);
  routes.add("POST", "/v1/images/import", kAdmin, import_image, {"name"});
  routes.add("POST", "/v1/images/prune", kAdmin, prune_images);
  routes.add("GET", "/v1/images/{image}", kRead, get_image);
  routes.add("DELETE", "/v1/images/{image}", kAdmin, remove_image, {"force"});
  routes.add("POST", "/v1/images/{image}/tag", kAdmin, tag_image);
  routes.add("POST", "/v1/images/{image}/verify", kRun, verify_image);
}

}  // namespace cove::api
