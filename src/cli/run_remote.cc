#include "cli/run_remote.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/exec_command.h"
#include "cli/remote_files.h"
#include "cli/sandbox_body.h"
#include "engine/caller.h"
#include "image/catalogue.h"

namespace cove::cli {
namespace {

// Should this process be killed, its command is killed with the connection, and its sandbox goes soon after.
constexpr int kIdleSeconds = 15;

Json body_of(const RunRequest& request) {
  Json body = sandbox_body(request.sandbox);
  if (request.code) body["language"] = request.code->language;
  if (request.sandbox.image.empty()) body.erase("image");
  body["lifecycle"] = {{"idle", kIdleSeconds}, {"max", nullptr}, {"on_expire", "delete"}, {"auto_resume", false}};
  return body;
}

std::string working_folder(const RunRequest& request) {
  if (!request.exec.cwd.empty()) return request.exec.cwd;
  if (request.sandbox.workspace.access != Access::None) return kWorkspacePath;
  const std::string& user = request.sandbox.user;
  if (!request.sandbox.image_defaults.cwd.empty()) return request.sandbox.image_defaults.cwd;
  return split(user, ':')[0] == "root" || user == "0" ? "/root" : "/home/user";
}

// Nothing will ever come from there: nobody need look.
bool input_is_null() {
  struct stat input;
  return ::fstat(STDIN_FILENO, &input) == 0 && S_ISCHR(input.st_mode) && input.st_rdev == makedev(1, 3);
}

bool passes_input(const RunRequest& request) { return request.exec.pty || (request.interactive && !input_is_null()); }

Json exec_body(const RunRequest& request) {
  Json body = {{"on_disconnect", "kill"}};
  if (request.code) {
    body["language"] = request.code->language;
    body["file"] = request.code->file;
    body["args"] = request.code->arguments;
  } else {
    body["argv"] = request.exec.argv;
  }
  if (!request.exec.cwd.empty()) body["cwd"] = request.exec.cwd;
  if (!request.exec.env.empty()) body["env"] = environment_body(request.exec.env);
  if (Json limits = exec_limits_body(request.sandbox.limits); !limits.empty()) body["limits"] = std::move(limits);
  if (request.exec.pty) body["pty"] = {{"rows", request.exec.pty->rows}, {"cols", request.exec.pty->columns}};
  if (!passes_input(request)) body["stdin"] = nullptr;
  return body;
}

ForegroundExec exec_of(const RunRequest& request, const std::string& sandbox) {
  ForegroundExec exec{sandbox, exec_body(request), {}};
  exec.attach.input = request.interactive && passes_input(request);
  exec.attach.terminal = request.exec.pty.has_value();
  if (request.stdio == Stdio::Capture) exec.attach.show = AttachOrder::Show::Nothing;
  return exec;
}

// The program has ended: whatever goes wrong here is told beside its result, which is not lost.
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

// `deleted`: the sandbox went with the result.
Result<Json> run_in(Api& api, const std::string& sandbox, const RunRequest& request, Caller& caller, const Warn& warn,
                    bool& deleted) {
  client::Place folder{sandbox, working_folder(request), ""};
  for (const InlineFile& file : request.files) COVE_TRY(bring_in(api, folder, file));
  for (const CopyIn& order : request.copy_in) COVE_TRY(bring_in(api, folder, order));
  ForegroundExec exec = exec_of(request, sandbox);
  if (request.copy_out.empty()) exec.deleted = &deleted;
  Json result = COVE_TRY(run_in_foreground(api, caller, exec));
  fetch_files(api, folder, request, warn, result);
  return result;
}

std::vector<std::string> words_of(const Json& json, std::string_view name) {
  std::vector<std::string> words;
  for (const Json& word : client::field(json, name))
    if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

// What the server has found the image to say of itself.
Result<void> settle_image(const Json& sandbox, RunRequest& request) {
  if (request.sandbox.image.empty()) request.sandbox.image = client::text_of(sandbox, "image");
  if (is_host_image(request.sandbox.image)) return {};
  drop_figures(request);
  const Json& defaults = client::field(sandbox, "image_defaults");
  request.sandbox.user = client::text_of(sandbox, "user");
  request.sandbox.image_defaults.entrypoint = words_of(defaults, "entrypoint");
  request.sandbox.image_defaults.cmd = words_of(defaults, "cmd");
  request.sandbox.image_defaults.cwd = client::text_of(defaults, "cwd");
  if (!request.code) request.exec.argv = COVE_TRY(command_of(request, request.sandbox.image_defaults));
  return {};
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
  Json made = COVE_TRY(api.create_briefly(body_of(request)));
  // Sandboxes go on while their server is replaced.
  if (client::seems_outdated(api.http())) COVE_TRY(client::replace_if_outdated(api.http()));
  std::string sandbox = client::text_of(made, "id");
  for (const Json& warning : client::field(made, "warnings"))
    if (warning.is_string()) warn(warning.get<std::string>());
  Result<void> settled = settle_image(made, request);
  bool deleted = false;
  Result<Json> result =
      settled ? run_in(api, sandbox, request, caller, warn, deleted) : fail(std::move(settled).error());
  if (deleted) return result;
  Result<void> removed = api.remove(sandbox);
  bool gone = removed || removed.error().code() == Code::NotFound;
  if (result && !gone) warn(concat("clean up: ", removed.error().message()));
  return result;
}

}  // namespace cove::cli
