#include "cli/run_remote.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/exec_command.h"
#include "cli/remote_files.h"
#include "cli/run_values.h"
#include "cli/sandbox_body.h"
#include "cli/warn_once.h"
#include "client/problem.h"
#include "client/server.h"
#include "image/catalogue.h"
#include "run/caller.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

// The idle timeout for a run with files: if the server is replaced, the sandbox does not end with the connection.
constexpr int kIdleMs = 15'000;
constexpr uint64_t kMostInline = kMiB;  // of files sent with the request

std::string working_folder(const RunRequest& request) {
  if (!request.exec.cwd.empty()) return request.exec.cwd;
  if (request.sandbox.workspace.access != Access::None) return kWorkspacePath;
  const std::string& user = request.sandbox.user;
  if (!request.sandbox.image_defaults.cwd.empty()) return request.sandbox.image_defaults.cwd;
  return split(user, ':')[0] == "root" || user == "0" ? "/root" : "/home/user";
}

// Such an input never has data, so it need not be read.
bool input_is_null() {
  struct stat input;
  return ::fstat(STDIN_FILENO, &input) == 0 && S_ISCHR(input.st_mode) && input.st_rdev == makedev(1, 3);
}

bool passes_input(const RunRequest& request) { return request.exec.pty || (request.interactive && !input_is_null()); }

// The part of the request body that both ways share: the program, where and how it runs.
void add_program(Json& body, const RunRequest& request) {
  if (request.code) {
    body["language"] = request.code->language;
    body["file"] = request.code->file;
    body["args"] = request.code->arguments;
  } else {
    body["argv"] = request.exec.argv;
  }
  if (!request.exec.cwd.empty()) body["cwd"] = request.exec.cwd;
  if (request.exec.pty) body["pty"] = {{"rows", request.exec.pty->rows}, {"cols", request.exec.pty->columns}};
}

AttachOrder attach_order(const RunRequest& request) {
  AttachOrder attach;
  attach.input = request.interactive && passes_input(request);
  attach.terminal = request.exec.pty.has_value();
  if (request.stdio == Stdio::Capture) attach.show = AttachOrder::Show::Nothing;
  return attach;
}

void tell_warnings(const Json& made) {
  for (const Json& warning : client::field(made, "warnings"))
    if (warning.is_string()) warn_once(warning.get<std::string>());
}

// Another client may have removed the sandbox already.
void remove(Api& api, const std::string& sandbox, const Warn& warn) {
  Result<void> removed = api.remove(sandbox);
  if (!removed && removed.error().code() != Code::NotFound) warn(concat("clean up: ", removed.error().message()));
}

// The first event of a stream, which names what was created.
Result<Json> first_of(client::EventStream& events, std::string_view name) {
  std::optional<client::ServerEvent> event = COVE_TRY(events.next());
  if (!event) return fail(Code::Unavailable, "the server closed the connection");
  Json json = COVE_TRY(client::parse_json(event->data));
  if (event->event == name) return json;
  return fail(client::read_problem(json, static_cast<int>(client::number_of(json, "status"))));
}

// --- one request
// ------------------------------------------------------------------------------------------------------

Json execute_body(const RunRequest& request) {
  Json body = sandbox_body(request.sandbox);
  if (request.sandbox.image.empty()) body.erase("image");
  Environment env = request.sandbox.env;
  for (const auto& [name, value] : request.exec.env) set_variable(env, name, value);
  if (!env.empty()) body["env"] = environment_body(env);
  add_program(body, request);
  if (!request.code && !is_host_image(request.sandbox.image)) {
    body.erase("argv");
    body["command"] = request.exec.argv;
    if (request.entrypoint) body["entrypoint"] = *request.entrypoint;
  }
  for (const InlineFile& file : request.files)
    body["files"].push_back({{"path", file.path}, {"base64", to_base64(file.data)}});
  body["outputs"] = Json::array();
  body["stdin"] = passes_input(request) ? Json{{"open", true}} : Json();
  return body;
}

// A server started by an older cove may not support the request; then it has run nothing.
Result<client::EventStream> open_execute(Api& api, const Json& body) {
  Result<client::EventStream> events = api.follow_execute(body);
  if (events || events.error().code() != Code::Invalid || !client::seems_outdated(api.http())) return events;
  if (!COVE_TRY(client::replace_if_outdated(api.http()))) return events;
  return api.follow_execute(body);
}

Result<Json> run_in_one(Api& api, const RunRequest& request, Caller& caller, const Warn& warn) {
  client::EventStream events = COVE_TRY(open_execute(api, execute_body(request)));
  Json start = COVE_TRY(first_of(events, "start"));
  tell_warnings(start);
  const ExecName name{client::text_of(start, "sandbox_id"), client::text_of(start, "exec_id")};
  Executed executed = COVE_TRY(follow_to_end(api, caller, std::move(events), name, attach_order(request)));
  if (executed.left_by_server) remove(api, name.sandbox, warn);
  return std::move(executed.result);
}

// --- with files
// -------------------------------------------------------------------------------------------------------

Json exec_body(const RunRequest& request) {
  Json body = {{"on_disconnect", "kill"}};
  add_program(body, request);
  if (!request.exec.env.empty()) body["env"] = environment_body(request.exec.env);
  if (Json limits = exec_limits_body(request.sandbox.limits); !limits.empty()) body["limits"] = std::move(limits);
  if (!passes_input(request)) body["stdin"] = nullptr;
  return body;
}

Json held_body(const RunRequest& request, const Json& network) {
  Json body = sandbox_body(request.sandbox);
  if (request.code) body["language"] = request.code->language;
  if (request.sandbox.image.empty()) body.erase("image");
  for (const auto& [name, value] : network.items()) body["network"][name] = value;
  body["lifecycle"] = {{"idle", kIdleMs}, {"max", nullptr}, {"on_expire", "delete"}, {"auto_resume", false}};
  return body;
}

// The program has ended: errors from here on are reported beside its result, which is kept.
void fetch_files(Api& api, const client::Place& folder, const RunRequest& request, const Warn& warn, Json& result) {
  if (request.copy_out.empty()) return;
  Json files = Json::array(), denials = Json::array();
  uint64_t room = request.copy_out_limit;
  Result<void> done;
  for (const CopyOut& order : request.copy_out)
    if (done) done = bring_out(api, folder, order, room, files, denials);
  if (!done) denials.push_back({{"what", "copy out the rest"}, {"why", done.error().message()}});
  for (const Json& denial : denials)
    warn(concat(client::text_of(denial, "what"), ": ", client::text_of(denial, "why")));
  result["files"] = std::move(files);
  for (Json& denial : denials) result["denials"].push_back(std::move(denial));
}

Result<Json> run_in(Api& api, const std::string& sandbox, const RunRequest& request, Caller& caller, const Warn& warn) {
  client::Place folder{sandbox, working_folder(request), ""};
  for (const InlineFile& file : request.files) COVE_TRY(bring_in(api, folder, file));
  for (const CopyIn& order : request.copy_in) COVE_TRY(bring_in(api, folder, order));
  Json result = COVE_TRY(run_in_foreground(api, caller, {sandbox, exec_body(request), attach_order(request)}));
  fetch_files(api, folder, request, warn, result);
  return result;
}

std::vector<std::string> words_of(const Json& json, std::string_view name) {
  std::vector<std::string> words;
  for (const Json& word : client::field(json, name))
    if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

// The image's configuration, as the server reports it.
Result<void> settle_image(const Json& sandbox, RunRequest& request) {
  if (request.sandbox.image.empty()) request.sandbox.image = client::text_of(sandbox, "image");
  if (is_host_image(request.sandbox.image)) return {};
  const Json& defaults = client::field(sandbox, "image_defaults");
  request.sandbox.user = client::text_of(sandbox, "user");
  request.sandbox.image_defaults.entrypoint = words_of(defaults, "entrypoint");
  request.sandbox.image_defaults.cmd = words_of(defaults, "cmd");
  request.sandbox.image_defaults.cwd = client::text_of(defaults, "cwd");
  if (!request.code)
    request.exec.argv = COVE_TRY(command_of(request.sandbox.image_defaults, request.entrypoint, request.exec.argv));
  return {};
}

// The sandbox lives as long as the connection that created it, so it is removed if this process is killed.
Result<Json> run_with_files(Api& api, RunRequest request, const Json& network, Caller& caller, const Warn& warn,
                            const Look& look) {
  Api holder(client::Http(api.http().address(), api.http().identity()));
  client::EventStream held = COVE_TRY(holder.create_held(held_body(request, network)));
  Json made = COVE_TRY(first_of(held, "sandbox"));
  const std::string sandbox = client::text_of(made, "id");
  tell_warnings(made);
  Result<void> settled = settle_image(made, request);
  Result<Json> result = settled ? run_in(api, sandbox, request, caller, warn) : fail(std::move(settled).error());
  if (result && look) look(api, sandbox);
  remove(api, sandbox, warn);
  return result;
}

// A file of code is sent with the request, unless it is large.
Result<void> take_code_along(RunRequest& request) {
  if (!request.code || request.copy_in.size() != 1 || request.copy_in[0].destination != request.code->file) return {};
  if (COVE_TRY(sys::stat(request.copy_in[0].source)).st_size > static_cast<off_t>(kMostInline)) return {};
  std::string code = COVE_TRY(sys::read_file(request.copy_in[0].source, kMostInline));
  request.files.push_back({request.code->file, std::move(code)});
  request.copy_in.clear();
  return {};
}

bool fits_request(const RunRequest& request) {
  uint64_t size = 0;
  for (const InlineFile& file : request.files) size += file.data.size();
  return request.copy_in.empty() && request.copy_out.empty() && size <= kMostInline;
}

}  // namespace

bool fits_json(const RunRequest& request) {
  bool fits = std::ranges::all_of(request.code ? request.code->arguments : request.exec.argv, is_utf8);
  fits = fits && (!request.code || (is_utf8(request.code->file) && is_utf8(request.code->language)));
  for (const auto& [name, value] : request.sandbox.env) fits = fits && is_utf8(name) && is_utf8(value);
  for (const auto& [name, value] : request.sandbox.labels) fits = fits && is_utf8(name) && is_utf8(value);
  return fits && is_utf8(request.exec.cwd) && is_utf8(request.sandbox.workspace.path);
}

Result<Json> run_remote(Api& api, const RunRequest& wanted, const Warn& warn) {
  Caller caller = COVE_TRY(Caller::create());
  RunRequest request = wanted;
  COVE_TRY(take_code_along(request));
  Result<Json> result = fits_request(request)
                            ? run_in_one(api, request, caller, warn)
                            : run_with_files(api, std::move(request), Json::object(), caller, warn, {});
  if (!client::seems_outdated(api.http())) return result;
  if (Result<bool> replaced = client::replace_if_outdated(api.http()); !replaced) warn(replaced.error().message());
  return result;
}

Result<Json> run_and_look(Api& api, const RunRequest& wanted, const Json& network, const Warn& warn, const Look& look) {
  Caller caller = COVE_TRY(Caller::create());
  RunRequest request = wanted;
  COVE_TRY(take_code_along(request));
  return run_with_files(api, std::move(request), network, caller, warn, look);
}

}  // namespace cove::cli
