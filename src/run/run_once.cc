#include "run/run_once.h"

#include <unistd.h>

#include "base/id.h"
#include "base/text.h"
#include "image/catalogue.h"
#include "model/figures.h"
#include "run/asked_inside.h"
#include "run/caller.h"
#include "run/copy.h"
#include "run/environment.h"
#include "run/git_author.h"
#include "run/run_loop.h"
#include "run/working_folder.h"
#include "runtime/docker/docker_runtime.h"
#include "runtime/native/native_runtime.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove {
namespace {

constexpr std::chrono::milliseconds kVersionPatience(20'000);

Result<Catalogue> stored_images() {
  std::string state = COVE_TRY(sys::find_folder(sys::kStateFolder));
  Result<UniqueFd> folder = sys::open(state, O_PATH | O_DIRECTORY);
  if (!folder && folder.error().code() == Code::NotFound) return Catalogue();
  return read_catalogue(COVE_TRY(std::move(folder)).get(), concat("server/", kServerImages));
}

// Reads an image's configuration if no server has resolved it.
Result<ImageConfig> look_up_image(SandboxSpec& sandbox, Runtime& runtime,
                                  const std::function<Result<RunLanguages>()>& known) {
  Capabilities can = runtime.capabilities();
  if (can.own_images) return runtime.image(can.name, sandbox.image);
  Catalogue catalogue = COVE_TRY(stored_images());
  NamedImage found = COVE_TRY(find_image(catalogue, sandbox.image, COVE_TRY(known()).registry));
  sandbox.image = found.pinned();
  return found.image->config;
}

Result<void> settle_image(RunRequest& request, Runtime& runtime, const std::function<Result<RunLanguages>()>& known) {
  SandboxSpec& sandbox = request.sandbox;
  if (is_host_image(sandbox.image)) {
    if (sandbox.user.empty()) sandbox.user = SandboxSpec().user;
    return {};
  }
  const ImageConfig config = COVE_TRY(look_up_image(sandbox, runtime, known));
  sandbox.image_defaults = {config.env, config.entrypoint, config.cmd, config.cwd};
  if (sandbox.user.empty()) sandbox.user = user_of_image(config);
  if (request.exec.cwd.empty() && sandbox.workspace.access == Access::None) request.exec.cwd = config.cwd;
  if (!request.code)
    request.exec.argv = COVE_TRY(command_of(sandbox.image_defaults, request.entrypoint, request.exec.argv));
  return {};
}

// Finds the command that runs the code, and the image if none is named.
Result<LanguagePlan> plan_code(Runtime& runtime, const RunLanguages& known, RunRequest& request) {
  LanguageWish wish = COVE_TRY_NOTE("--lang", parse_language(known.table, request.code->language));
  const bool own_images = runtime.capabilities().own_images;
  Catalogue catalogue = COVE_TRY(stored_images());
  auto stored = [&](const std::string& image) -> std::optional<std::string> {
    Result<NamedImage> found = find_image(catalogue, image, known.registry);
    return found ? std::optional(found->pinned()) : std::nullopt;
  };
  auto ask = [&](const std::string& script) {
    return asked_inside(runtime, SandboxSpec(), {"sh", "-c", script}, kVersionPatience);
  };
  Result<std::string> cache = sys::find_folder(sys::kCacheFolder);
  Languages languages(known.table, stored, ask, cache ? *cache + "/languages" : "");
  std::string image = request.sandbox.image;
  if (image.empty() && own_images) image = request.sandbox.image = SandboxSpec().image;
  if (!image.empty() && !is_host_image(image) && !own_images)
    image = COVE_TRY(find_image(catalogue, image, known.registry)).pinned();
  LanguagePlan plan = COVE_TRY(languages.plan(wish, image));
  if (image.empty()) request.sandbox.image = plan.use.image;
  return plan;
}

// argv and what comes before it.
void fill_code(const CommandLine& command, const std::string& main_class, RunRequest& request) {
  const RunCode& code = *request.code;
  CodePlaces places;
  places.file = code.file;
  places.out = concat("/tmp/cove-", request.exec.id);
  places.folder = places.out + ".d";
  places.class_name = main_class;
  request.exec.compile = filled(command.compile, places);
  request.exec.argv = filled(command.run, places);
  request.exec.argv.insert(request.exec.argv.end(), code.arguments.begin(), code.arguments.end());
}

Result<RunRequest> complete(const RunRequest& wanted, Runtime& runtime,
                            const std::function<Result<RunLanguages>()>& known) {
  RunRequest request = wanted;
  COVE_TRY(settle_image(request, runtime, known));
  if (request.sandbox.id.empty()) request.sandbox.id = make_id();
  if (request.exec.id.empty()) request.exec.id = make_id();
  request.sandbox.single_exec = true;
  request.sandbox.ends_with_exec = request.copy_out.empty();
  Environment env = base_environment(request.sandbox);
  for (const Environment* more : {&request.sandbox.env, &request.exec.env})
    env.insert(env.end(), more->begin(), more->end());
  find_figures_module(env);
  request.sandbox.env = std::move(env);
  request.exec.env.clear();
  return request;
}

std::string working_folder(const RunRequest& request) {
  if (!request.exec.cwd.empty()) return request.exec.cwd;
  if (request.sandbox.workspace.access != Access::None) return kWorkspacePath;
  const std::string& user = request.exec.user.empty() ? request.sandbox.user : request.exec.user;
  return split(user, ':')[0] == "root" || user == "0" ? "/root" : "/home/user";
}

Result<void> bring_files(Sandbox& sandbox, const RunRequest& request) {
  if (request.files.empty() && request.copy_in.empty()) return {};
  COVE_TRY(sandbox.ready());
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view(request.exec.user));
  for (const InlineFile& file : request.files) COVE_TRY(write_inline(*view, file));
  for (const CopyIn& order : request.copy_in) COVE_TRY(copy_in(*view, order, working_folder(request)));
  return {};
}

Result<void> copy_all_out(Sandbox& sandbox, const RunRequest& request, CopiedOut& copied) {
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view(request.exec.user));
  uint64_t room = request.copy_out_limit;
  for (const CopyOut& order : request.copy_out) COVE_TRY(copy_out(*view, order, working_folder(request), room, copied));
  return {};
}

// The program has ended: errors from here on are reported beside its result, which is kept.
void fetch_files(Sandbox& sandbox, const RunRequest& request, const Warn& warn, ExecResult& result) {
  if (request.copy_out.empty()) return;
  CopiedOut copied;
  Result<void> done = copy_all_out(sandbox, request, copied);
  if (!done) copied.left_out.push_back({"copy out the rest", done.error().message()});
  for (const Denial& denial : copied.left_out) warn(concat(denial.what, ": ", denial.why));
  result.files = std::move(copied.files);
  result.denials.insert(result.denials.end(), copied.left_out.begin(), copied.left_out.end());
}

// The command to execute, if there are several candidates: examines the sandbox.
Result<void> settle_command(Sandbox& sandbox, const LanguagePlan& plan, RunRequest& request) {
  if (!request.code) return {};
  if (plan.commands.size() == 1 && !names_class(plan)) return fill_code(plan.commands[0], "", request), Result<void>();
  std::string path;
  for (const auto& [name, value] : request.sandbox.env)
    if (name == "PATH") path = value;
  COVE_TRY(sandbox.ready());
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view(request.exec.user));
  CommandLine command = COVE_TRY(pick_command(*view, plan, path));
  fill_code(command, names_class(plan) ? main_class_of(*view, request.code->file) : "", request);
  return {};
}

Result<ExecResult> run_in(Sandbox& sandbox, const LanguagePlan& plan, RunRequest& request, Caller& caller,
                          const Warn& warn) {
  COVE_TRY(make_working_folder(sandbox, request.sandbox));
  COVE_TRY(write_git_author(sandbox, request.sandbox));
  COVE_TRY(bring_files(sandbox, request));
  COVE_TRY(settle_command(sandbox, plan, request));
  Attachment streams = COVE_TRY(sandbox.exec(request.exec));
  if (request.exec.pty) caller.enter_raw_mode();
  RunLoop loop(sandbox, request, caller, std::move(streams));
  ExecResult result = COVE_TRY(loop.run());
  fetch_files(sandbox, request, warn, result);
  COVE_TRY(loop.delivered());
  return result;
}

}  // namespace

Result<std::unique_ptr<Runtime>> make_runtime(const std::string& name) {
  native::Places places = COVE_TRY(native::find_places());
  if (!is_engine_runtime(name)) return native::make_oci_runtime(std::move(places), name);
  return docker::make_engine_runtime(name, std::move(places), COVE_TRY(sys::find_folder(sys::kStateFolder)));
}

Result<ExecResult> run_once(const RunRequest& wanted, const std::function<Result<RunLanguages>()>& languages,
                            const Warn& warn, const Warn& tell_weakness) {
  std::unique_ptr<Runtime> runtime = COVE_TRY(make_runtime(wanted.sandbox.runtime));
  LanguagePlan plan;
  RunRequest request = wanted;
  if (request.code) {
    plan = COVE_TRY(plan_code(*runtime, COVE_TRY(languages()), request));
    if (!plan.use.note.empty()) warn(plan.use.note);
  }
  request = COVE_TRY(complete(request, *runtime, languages));
  Caller caller = COVE_TRY(Caller::create());
  request.sandbox.runtime.clear();
  std::unique_ptr<Sandbox> sandbox = COVE_TRY(runtime->create(request.sandbox));
  for (const std::string& weakness : sandbox->warnings()) tell_weakness(weakness);
  Result<ExecResult> result = run_in(*sandbox, plan, request, caller, warn);
  if (result && request.code) result->language = plan.use;
  Result<void> gone = sandbox->destroy(Files::Remove);
  if (!result) return result;
  if (!gone) warn(concat("clean up: ", gone.error().message()));
  return result;
}

}  // namespace cove
