// Images: pulled, loaded, imported, listed, named, checked and removed. They are the server's, for all of its projects.
#include "image/images.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "api/rest/api.h"
#include "api/rest/call.h"
#include "api/rest/operations.h"
#include "api/rest/paging.h"
#include "api/rest/query.h"
#include "api/rest/request_json.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/upload.h"
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
                      {"size_bytes", layer.size},
                      {"unpacked_size_bytes", layer.unpacked_size},
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
          {"size_bytes", image.size()},
          {"unpacked_size_bytes", image.unpacked_size()},
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
          {"size_bytes", 0},
          {"unpacked_size_bytes", 0},
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

// It is there, but has nothing that could be done to it.
Checked<void> refuse_host(const Call& call, std::string_view why) {
  if (!is_host_image(call.captured("image"))) return {};
  return refuse(409, "conflict", concat("the image host is this machine itself: ", why));
}

void note(Call& call, const std::string& kind, const Json& data) {
  call.engine().note(call.caller, kind, "", "", dump(data));
}

Outcome list_images(Call& call) {
  std::vector<PageItem> images = {{"host", dump(host_json())}};
  for (const ImageInfo& image : call.engine().images().list())
    images.push_back({image.image.digest, dump(image_json(image))});
  return respond_page(call, images);
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

Json layers_json(const ImageProgress& progress) {
  Json layers = Json::array();
  for (const ImageProgress::Layer& layer : progress.layers())
    layers.push_back({{"digest", layer.digest},
                      {"size_bytes", layer.size},
                      {"done_bytes", layer.done},
                      {"state", layer_state_name(layer.state)}});
  return layers;
}

engine::OperationProgress summary_of(const ImageProgress& progress) {
  engine::OperationProgress summary;
  size_t fetching = 0, unpacking = 0;
  for (const ImageProgress::Layer& layer : progress.layers()) {
    const bool whole = layer.state == LayerState::Done || layer.state == LayerState::Shared;
    summary.total_bytes += layer.size;
    summary.done_bytes += whole ? layer.size : std::min(layer.done, layer.size);
    fetching += layer.state == LayerState::Fetching ? 1 : 0;
    unpacking += layer.state == LayerState::Unpacking ? 1 : 0;
  }
  summary.message = fetching > 0 ? "fetching layers" : unpacking > 0 ? "unpacking layers" : "";
  summary.details = dump(Json{{"layers", layers_json(progress)}});
  return summary;
}

// Work on images, on behalf of the caller, whether he stays or not.
engine::OperationTask task_of(Call& call, const char* kind, const std::string& target) {
  return {.kind = kind, .target = target, .project = call.caller.project, .work = {}, .progress = {}, .cancel = {}};
}

Caller absent(Caller caller) {
  caller.connection = caller.peer = -1;
  return caller;
}

void show_progress(engine::OperationTask& task, const std::shared_ptr<ImageProgress>& progress) {
  task.progress = [progress] { return summary_of(*progress); };
  task.cancel = [progress] { progress->cancelled = true; };
}

// The work goes on without the caller; ?wait=true stays for its outcome.
Outcome pull_image(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  Images::PullOrder order;
  order.reference = COVE_TRY(required(fields, "reference", fields.text("reference")));
  if (auto platform = COVE_TRY(fields.text("platform")))
    order.platform = COVE_TRY(fields.checked("platform", parse_platform(*platform)));
  order.login = COVE_TRY(take_login(fields));
  if (!call.caller.local) order.reach = Reach::Public;
  COVE_TRY(fields.finish());
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  std::string name = to_text(COVE_TRY_NOTE("pull", call.engine().images().reference_of(order.reference)));
  engine::OperationTask task = task_of(call, "pull", name);
  auto progress = std::make_shared<ImageProgress>();
  show_progress(task, progress);
  task.work = [&engine = call.engine(), caller = absent(call.caller), order = std::move(order), name,
               progress]() -> Result<std::string> {
    ImageInfo image = COVE_TRY(with_advice(engine.images().pull(order, *progress)));
    engine.note(caller, "image.pulled", "", "", dump(Json{{"name", name}, {"digest", image.image.digest}}));
    return dump(image_json(image));
  };
  return wait ? answer_outcome(call, std::move(task)) : answer_started(call, std::move(task));
}

Outcome load_images(Call& call) {
  auto archive = std::make_shared<UniqueFd>(COVE_TRY(call.take_upload()));
  engine::OperationTask task = task_of(call, "load", "");
  auto progress = std::make_shared<ImageProgress>();
  show_progress(task, progress);
  task.work = [&engine = call.engine(), caller = absent(call.caller), archive, progress]() -> Result<std::string> {
    Json images = Json::array();
    for (const ImageInfo& image : COVE_TRY(with_advice(engine.images().load(archive->get(), *progress)))) {
      engine.note(caller, "image.loaded", "", "", dump(Json{{"names", image.names}, {"digest", image.image.digest}}));
      images.push_back(image_json(image));
    }
    return dump(Json{{"items", std::move(images)}, {"next", nullptr}});
  };
  return answer_outcome(call, std::move(task));
}

Outcome import_image(Call& call) {
  Images::ImportOrder order;
  order.name = text_parameter(call.request(), "name");
  if (order.name.empty()) return invalid("'name' is missing: what the image is to be called");
  std::string name = to_text(COVE_TRY_NOTE("'name'", parse_reference(order.name)));
  if (is_host_image(order.name)) return invalid("'name': the name 'host' is taken: it is this machine's own userland");
  auto archive = std::make_shared<UniqueFd>(COVE_TRY(call.take_upload()));
  engine::OperationTask task = task_of(call, "import", name);
  auto progress = std::make_shared<ImageProgress>();
  show_progress(task, progress);
  task.work = [&engine = call.engine(), caller = absent(call.caller), archive, order, name,
               progress]() -> Result<std::string> {
    ImageInfo image = COVE_TRY(with_advice(engine.images().import(archive->get(), order, *progress)));
    engine.note(caller, "image.imported", "", "", dump(Json{{"name", name}, {"digest", image.image.digest}}));
    return dump(image_json(image));
  };
  return answer_outcome(call, std::move(task), {201, "/v1/images/"});
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
  return {{"names", removed.names}, {"digests", removed.digests}, {"freed_bytes", removed.bytes}};
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
  engine::OperationTask task = task_of(call, "prune", "");
  task.work = [&engine = call.engine(), caller = absent(call.caller), all]() -> Result<std::string> {
    Images::Removed removed = COVE_TRY(engine.images().prune(all ? Images::Prune::Unused : Images::Prune::Nameless));
    engine.note(caller, "image.pruned", "", "", dump(removed_json(removed)));
    return dump(removed_json(removed));
  };
  return answer_outcome(call, std::move(task));
}

Outcome verify_image(Call& call) {
  COVE_TRY(refuse_host(call, "there is nothing that it could be compared with"));
  const std::string image = COVE_TRY(call.engine().images().find(call.captured("image"))).image.digest;
  engine::OperationTask task = task_of(call, "verify", call.captured("image"));
  task.work = [&engine = call.engine(), image]() -> Result<std::string> {
    std::vector<std::string> problems = COVE_TRY(engine.images().verify(image));
    return dump(Json{{"ok", problems.empty()}, {"problems", problems}});
  };
  return answer_outcome(call, std::move(task));
}

}  // namespace

void add_images(Routes& routes) {
  routes.add("GET", "/v1/images", kRead, list_images, {"after", "limit"});
  routes.add("POST", "/v1/images", kManage, pull_image, {"wait"}, Conditions::Refused, Repeat::Once);
  routes.add("POST", "/v1/images/load", kManage, load_images, {}, Conditions::Refused, Repeat::OnceUpload);
  routes.add("POST", "/v1/images/import", kManage, import_image, {"name"}, Conditions::Refused, Repeat::OnceUpload);
  routes.add("POST", "/v1/images/prune", kManage, prune_images);
  routes.add("GET", "/v1/images/{image}", kRead, get_image);
  routes.add("DELETE", "/v1/images/{image}", kManage, remove_image, {"force"});
  routes.add("POST", "/v1/images/{image}/tag", kManage, tag_image);
  routes.add("POST", "/v1/images/{image}/verify", kRun, verify_image);
}

}  // namespace cove::api
