#include "client/api.h"

namespace cove::client {
namespace {

Target sandbox_target(const std::string& sandbox) { return Target("/v1/sandboxes").part(sandbox); }

Target exec_target(const std::string& sandbox, const std::string& exec) {
  return sandbox_target(sandbox).part("execs").part(exec);
}

Target network_target(const std::string& sandbox) { return sandbox_target(sandbox).part("network"); }

Target session_target(const std::string& session) { return Target("/v1/sessions").part(session); }

Target image_target(const std::string& image) { return Target("/v1/images").part(image); }

Target file_target(const Place& place, std::string_view kind) {
  return sandbox_target(place.sandbox).part(kind).query("path", place.path).query("user", place.user);
}

// Where the path is part of the body.
Target entry_target(const Place& place, std::string_view action) {
  return sandbox_target(place.sandbox).part("entries").part(action).query("user", place.user);
}

std::string recursive(Depth depth) { return depth == Depth::Recursive ? "true" : ""; }

Result<std::vector<Json>> items_of(const Json& answer) {
  const Json& list = field(answer, "items");
  if (!list.is_array()) return fail(Code::Internal, "the server's answer has no list");
  return std::vector<Json>(list.begin(), list.end());
}

}  // namespace

Result<Json> Api::ask(const std::string& method, const Target& target, const std::optional<Json>& body) {
  Request request;
  request.method = method;
  request.target = target.text();
  request.headers = {{"Accept", "application/json"}};
  if (body) {
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = dump(*body);
  }
  Response response = COVE_TRY(http_.fetch(request));
  if (response.body.empty()) return Json();
  return parse_json(response.body);
}

Result<EventStream> Api::follow(const std::string& method, const Target& target, const std::optional<Json>& body) {
  constexpr const char* kEvents = "text/event-stream";
  Request request;
  request.method = method;
  request.target = target.text();
  request.headers = {{"Accept", kEvents}};
  if (body) {
    request.headers.push_back({"Content-Type", "application/json"});
    request.body = dump(*body);
  }
  ResponseHead head = COVE_TRY(http_.open(request));
  if (head.header("content-type").starts_with(kEvents)) return EventStream(http_.body());
  return fail(Error(Code::Unsupported, concat("the server answers ", target.text(), " with no stream"))
                  .hint("it is older than this cove: restart it"));
}

Result<std::vector<Json>> Api::all_pages(const Target& target, size_t limit) {
  std::vector<Json> all;
  std::string after;
  do {
    Target page = target;
    Json answer = COVE_TRY(ask("GET", page.query("limit", concat(limit)).query("after", after)));
    for (Json& item : COVE_TRY(items_of(answer))) all.push_back(std::move(item));
    after = text_of(answer, "next");
  } while (!after.empty());
  return all;
}

Result<Json> Api::create(const Json& order) { return ask("POST", Target("/v1/sandboxes"), order); }
Result<EventStream> Api::create_held(const Json& order) { return follow("POST", Target("/v1/sandboxes"), order); }
Result<Json> Api::sandbox(const std::string& sandbox) { return ask("GET", sandbox_target(sandbox)); }

Result<std::vector<Json>> Api::sandboxes(const SandboxQuery& query) {
  Target target("/v1/sandboxes");
  target.query("state", query.state).query("name", query.name);
  for (const std::string& label : query.labels) target.query("label", label);
  return all_pages(target);
}

Result<Json> Api::update(const std::string& sandbox, const Json& patch) {
  return ask("PATCH", sandbox_target(sandbox), patch);
}

Result<Json> Api::act(const std::string& sandbox, std::string_view verb, const Json& order) {
  return ask("POST", sandbox_target(sandbox).part(verb), order);
}

Result<void> Api::remove(const std::string& sandbox) {
  COVE_TRY(ask("DELETE", sandbox_target(sandbox)));
  return {};
}

Result<Json> Api::stats(const std::string& sandbox) { return ask("GET", sandbox_target(sandbox).part("stats")); }

Result<Json> Api::network(const std::string& sandbox) { return ask("GET", network_target(sandbox)); }

Result<Json> Api::network_log(const std::string& sandbox, uint64_t after) {
  return ask("GET", network_target(sandbox).part("log").query("after", std::to_string(after)).query("limit", "1000"));
}

Result<EventStream> Api::follow_network_log(const std::string& sandbox, uint64_t after) {
  return follow("GET", network_target(sandbox).part("log").query("after", std::to_string(after)));
}

Result<Json> Api::check_network(const std::string& sandbox, const std::string& host, const std::string& port) {
  return ask("GET", network_target(sandbox).part("check").query("host", host).query("port", port));
}

Result<Json> Api::learned_rules(const std::string& sandbox) {
  return ask("GET", network_target(sandbox).part("learned"));
}

Result<std::vector<Json>> Api::network_requests(const std::string& sandbox) {
  return all_pages(network_target(sandbox).part("requests"));
}

Result<Json> Api::decide_network_request(const std::string& sandbox, const Json& order) {
  return ask("POST", network_target(sandbox).part("requests"), order);
}

Result<std::vector<Json>> Api::ports(const std::string& sandbox) {
  return items_of(COVE_TRY(ask("GET", sandbox_target(sandbox).part("ports"))));
}

Result<Json> Api::update_port(const std::string& sandbox, uint16_t port, const Json& patch) {
  return ask("PATCH", sandbox_target(sandbox).part("ports").part(concat(port)), patch);
}

Result<Json> Api::create_token(const std::string& sandbox, const Json& order) {
  return ask("POST", sandbox_target(sandbox).part("tokens"), order);
}

Result<std::unique_ptr<Connection>> Api::connect_port(const std::string& sandbox, uint16_t port) const {
  Request request;
  request.target = sandbox_target(sandbox).part("ports").part(concat(port)).part("connect").text();
  request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "tcp"}};
  ResponseHead head;
  return http_.upgrade(request, head);
}

Result<Json> Api::exec(const std::string& sandbox, const Json& order) {
  return ask("POST", sandbox_target(sandbox).part("execs"), order);
}

Result<Json> Api::start_session(const Json& order) { return ask("POST", Target("/v1/sessions"), order); }
Result<Json> Api::session(const std::string& session) { return ask("GET", session_target(session)); }

Result<std::vector<Json>> Api::sessions(const SessionQuery& query) {
  Target target("/v1/sessions");
  target.query("agent", query.agent).query("scope", query.scope).query("state", query.state);
  return all_pages(target);
}

Result<void> Api::end_session(const std::string& session) {
  COVE_TRY(ask("DELETE", session_target(session)));
  return {};
}

Result<Json> Api::session_exec(const std::string& session, const Json& order) {
  return ask("POST", session_target(session).part("execs"), order);
}

Result<EventStream> Api::follow_session_exec(const std::string& session, const Json& order) {
  return follow("POST", session_target(session).part("execs"), order);
}

Result<EventStream> Api::follow_exec(const std::string& sandbox, const Json& order) {
  return follow("POST", sandbox_target(sandbox).part("execs"), order);
}

Result<std::vector<Json>> Api::session_execs(const std::string& session) {
  return all_pages(session_target(session).part("execs"));
}

Result<Json> Api::create_context(const std::string& sandbox, const Json& order) {
  return ask("POST", sandbox_target(sandbox).part("contexts"), order);
}

Result<std::vector<Json>> Api::contexts(const std::string& sandbox) {
  return all_pages(sandbox_target(sandbox).part("contexts"));
}

Result<void> Api::interrupt_context(const std::string& sandbox, const std::string& context) {
  COVE_TRY(ask("POST", sandbox_target(sandbox).part("contexts").part(context).part("interrupt")));
  return {};
}

Result<void> Api::remove_context(const std::string& sandbox, const std::string& context) {
  COVE_TRY(ask("DELETE", sandbox_target(sandbox).part("contexts").part(context)));
  return {};
}

Result<Json> Api::execute(const Json& order) { return ask("POST", Target("/v1/execute"), order); }

Result<EventStream> Api::follow_execute(const Json& order) { return follow("POST", Target("/v1/execute"), order); }

Result<Json> Api::find_exec(const std::string& sandbox, const std::string& exec) {
  return ask("GET", exec_target(sandbox, exec));
}

Result<std::vector<Json>> Api::execs(const std::string& sandbox, const ExecQuery& query) {
  return all_pages(sandbox_target(sandbox).part("execs").query("state", query.state).query("tag", query.tag));
}

Result<Json> Api::kill_exec(const std::string& sandbox, const std::string& exec) {
  return ask("DELETE", exec_target(sandbox, exec));
}

Result<void> Api::signal_exec(const std::string& sandbox, const std::string& exec, const Json& order) {
  COVE_TRY(ask("POST", exec_target(sandbox, exec).part("signal"), order));
  return {};
}

Result<void> Api::resize_exec(const std::string& sandbox, const std::string& exec, const Json& size) {
  COVE_TRY(ask("POST", exec_target(sandbox, exec).part("resize"), size));
  return {};
}

Result<Json> Api::output(const std::string& sandbox, const std::string& exec, uint64_t from) {
  return ask("GET", exec_target(sandbox, exec).part("output").query("from", concat(from)));
}

Result<EventStream> Api::follow_output(const std::string& sandbox, const std::string& exec, uint64_t from) {
  return follow("GET", exec_target(sandbox, exec).part("output").query("from", concat(from)));
}

InputChannel Api::open_input(const std::string& sandbox, const std::string& exec) const {
  return InputChannel(http_, exec_target(sandbox, exec).part("stdin").text());
}

Result<WebSocket> Api::attach(const std::string& sandbox, const std::string& exec, uint64_t from) {
  return WebSocket::open(http_, exec_target(sandbox, exec).part("attach").query("from", concat(from)).text());
}

Result<Json> Api::entry(const Place& place) {
  Json answer = COVE_TRY(ask("GET", file_target(place, "entries").query("depth", "0")));
  std::vector<Json> entries = COVE_TRY(items_of(answer));
  if (entries.size() != 1) return fail(Code::Internal, concat("the server has listed ", entries.size(), " entries"));
  return entries[0];
}

Result<std::vector<Json>> Api::entries(const Place& place, int depth) {
  return all_pages(file_target(place, "entries").query("depth", concat(depth)), 10'000);
}

Result<ResponseHead> Api::open_file(const Place& place) {
  Request request;
  request.target = file_target(place, "files").text();
  return http_.open(request);
}

Result<uint64_t> Api::download(const Place& place, int file, const Progress& progress) {
  COVE_TRY(open_file(place));
  return body().copy_to(file, progress);
}

Result<Json> Api::upload(const Place& place, const Upload& upload) {
  Request request;
  request.method = "PUT";
  request.target = file_target(place, "files").query("mode", upload.mode).text();
  request.headers = {{"Content-Type", "application/octet-stream"}};
  request.length = upload.data ? upload.data->size() : upload.size;
  request.progress = upload.progress;
  request.produce = [&](BodyWriter& body) {
    if (upload.data) return body.write(*upload.data);
    return upload.size ? body.write_file(upload.file, *upload.size) : body.write_rest(upload.file);
  };
  return parse_json(COVE_TRY(http_.fetch(request)).body);
}

Result<void> Api::remove_file(const Place& place, Depth depth) {
  COVE_TRY(ask("DELETE", file_target(place, "files").query("recursive", recursive(depth))));
  return {};
}

Result<Json> Api::make_folder(const Place& place, const std::string& mode, Parents parents) {
  Json order = {{"path", place.path}};
  if (!mode.empty()) order["mode"] = mode;
  if (parents == Parents::Make) order["parents"] = true;
  return ask("POST", entry_target(place, "mkdir"), order);
}

Result<Json> Api::move(const Place& from, const std::string& to) {
  return ask("POST", entry_target(from, "move"), Json{{"from", from.path}, {"to", to}});
}

Result<Json> Api::change_mode(const Place& place, const std::string& mode) {
  return ask("POST", entry_target(place, "chmod"), Json{{"path", place.path}, {"mode", mode}});
}

Result<void> Api::open_archive(const Place& place) {
  Request request;
  request.target = file_target(place, "archive").text();
  COVE_TRY(http_.open(request));
  return {};
}

Result<Json> Api::unpack(const Place& place, std::function<Result<void>(BodyWriter&)> produce,
                         const Progress& progress) {
  Request request;
  request.method = "PUT";
  request.target = file_target(place, "archive").text();
  request.headers = {{"Content-Type", "application/x-tar"}};
  request.produce = std::move(produce);
  request.progress = progress;
  return parse_json(COVE_TRY(http_.fetch(request)).body);
}

Result<EventStream> Api::watch(const Place& place, Depth depth) {
  return follow("GET", file_target(place, "watch").query("recursive", recursive(depth)));
}

Result<std::vector<Json>> Api::images() { return all_pages(Target("/v1/images")); }

Result<std::vector<Json>> Api::languages() { return all_pages(Target("/v1/languages")); }

Result<Json> Api::image(const std::string& image) { return ask("GET", image_target(image)); }

Result<Json> Api::pull_image(const Json& order) { return ask("POST", Target("/v1/images"), order); }

Result<EventStream> Api::follow_operation(const std::string& operation) {
  return follow("GET", Target("/v1/operations").part(operation));
}

Result<Json> Api::send_archive(const Target& target, std::function<Result<void>(BodyWriter&)> produce,
                               const Progress& progress) {
  Request request;
  request.method = "POST";
  request.target = target.text();
  request.headers = {{"Content-Type", "application/x-tar"}};
  request.produce = std::move(produce);
  request.progress = progress;
  return parse_json(COVE_TRY(http_.fetch(request)).body);
}

Result<Json> Api::load_images(std::function<Result<void>(BodyWriter&)> produce, const Progress& progress) {
  return send_archive(Target("/v1/images/load"), std::move(produce), progress);
}

Result<Json> Api::import_image(const std::string& name, std::function<Result<void>(BodyWriter&)> produce,
                               const Progress& progress) {
  return send_archive(Target("/v1/images/import").query("name", name), std::move(produce), progress);
}

Result<Json> Api::tag_image(const std::string& image, const std::string& name) {
  return ask("POST", image_target(image).part("tag"), Json{{"name", name}});
}

Result<Json> Api::remove_image(const std::string& image, bool force) {
  return ask("DELETE", image_target(image).query("force", force ? "true" : ""));
}

Result<Json> Api::prune_images(bool all) { return ask("POST", Target("/v1/images/prune"), Json{{"all", all}}); }

Result<Json> Api::verify_image(const std::string& image) {
  return ask("POST", image_target(image).part("verify"), Json::object());
}

namespace {

Target events_target(uint64_t after, const Api::EventFilter& filter) {
  Target target("/v1/events");
  target.query("after", concat(after)).query("sandbox", filter.sandbox).query("session", filter.session);
  for (const std::string& type : filter.types) target.query("type", type);
  return target;
}

}  // namespace

Result<Json> Api::events(uint64_t after, const EventFilter& filter) {
  return ask("GET", events_target(after, filter).query("limit", "1000"));
}

Result<EventStream> Api::follow_events(uint64_t after, const EventFilter& filter) {
  return follow("GET", events_target(after, filter));
}

Result<Json> Api::create_key(const Json& order) { return ask("POST", Target("/v1/keys"), order); }

Result<std::vector<Json>> Api::keys() { return all_pages(Target("/v1/keys")); }

Result<void> Api::revoke_key(const std::string& key) {
  COVE_TRY(ask("DELETE", Target("/v1/keys").part(key)));
  return {};
}

Result<Json> Api::set_secret(const Json& order) { return ask("POST", Target("/v1/secrets"), order); }

Result<std::vector<Json>> Api::secrets(const std::string& agent) {
  return all_pages(Target("/v1/secrets").query("agent", agent));
}

Result<void> Api::remove_secret(const std::string& name, const std::string& agent) {
  COVE_TRY(ask("DELETE", Target("/v1/secrets").part(name).query("agent", agent)));
  return {};
}

Result<void> Api::rotate_secrets() {
  COVE_TRY(ask("DELETE", Target("/v1/secrets-key")));
  return {};
}

Result<Json> Api::create_project(const Json& order) { return ask("POST", Target("/v1/projects"), order); }
Result<Json> Api::project(const std::string& project) { return ask("GET", Target("/v1/projects").part(project)); }

Result<std::vector<Json>> Api::projects() { return all_pages(Target("/v1/projects")); }

Result<Json> Api::update_project(const std::string& project, const Json& patch) {
  return ask("PATCH", Target("/v1/projects").part(project), patch);
}

Result<void> Api::remove_project(const std::string& project) {
  COVE_TRY(ask("DELETE", Target("/v1/projects").part(project)));
  return {};
}

Result<std::vector<Json>> Api::settings() { return all_pages(Target("/v1/config")); }

}  // namespace cove::client
