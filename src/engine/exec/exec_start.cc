// Starting and finding execs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/exec/ended_exec.h"
#include "engine/live_engine.h"
#include "engine/record_codec.h"
#include "image/catalogue.h"
#include "model/figures.h"
#include "model/limit_fields.h"
#include "run/environment.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

std::unexpected<Error> no_exec(const std::string& exec) {
  return fail(Code::NotFound, concat("there is no exec '", exec, "' in this sandbox"));
}

// What every program has, then what the sandbox has, then its secrets, then the exec's own.
Environment whole_environment(const PreviewSite& previews, const SandboxInfo& sandbox, const ExecOrder& order,
                              const ExecSecrets& secrets) {
  Environment env = base_environment(sandbox.spec);
  tell_preview_url(env, previews, sandbox.spec.id);
  for (const Environment* more : {&sandbox.spec.env, &secrets.env, &order.spec.env})
    env.insert(env.end(), more->begin(), more->end());
  if (secrets.trust) add_trust_variables(env);
  if (order.language == kPython && order.file.empty()) want_figures(env);
  find_figures_module(env);
  return env;
}

Result<void> write_code(View& view, const std::string& path, std::string_view code) {
  UniqueFd file = COVE_TRY(view.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  while (!code.empty()) {
    ssize_t count = ::write(file.get(), code.data(), code.size());
    if (count <= 0) return fail_errno(concat("write ", path, " in the sandbox"));
    code.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

// Where the code goes, and what is made of it.
CodePlaces places_of(const ExecOrder& order, const Language& language) {
  CodePlaces places;
  places.out = script_path(order.spec.id, "");
  places.folder = places.out + ".d";
  places.file = !order.file.empty()     ? order.file
                : !order.beside.empty() ? concat(order.beside, "/", hidden_script(order.spec.id), language.extension)
                                        : script_path(order.spec.id, language.extension);
  if (!language.file_named_after_class || !order.file.empty()) return places;
  places.class_name = java_class(order.code);
  places.file =
      concat(places.folder, "/", places.class_name.substr(places.class_name.rfind('.') + 1), language.extension);
  return places;
}

// The words to execute, from now on.
void fill_command(ExecOrder& order, const CommandLine& command, const CodePlaces& places) {
  order.spec.compile = filled(command.compile, places);
  order.spec.argv = filled(command.run, places);
  order.spec.argv.insert(order.spec.argv.end(), order.arguments.begin(), order.arguments.end());
}

// What is on record of a command is for people.
void mask_words(LiveExec::Parts& parts) {
  if (!parts.mask) return;
  ExecOrder& order = parts.info.order;
  order.shell = parts.mask->mask(order.shell);
  for (std::vector<std::string>* words : {&order.spec.argv, &order.spec.compile, &order.arguments})
    for (std::string& word : *words) word = parts.mask->mask(word);
}

std::string path_variable(const PreviewSite& previews, const SandboxInfo& sandbox, const ExecOrder& order) {
  std::string path;
  for (const auto& [name, value] : whole_environment(previews, sandbox, order, {}))
    if (name == "PATH") path = value;
  return path;
}

}  // namespace

Limits limits_in_force(const Limits& sandbox, const ExecOrder& order) {
  Limits limits = sandbox;
  visit_limits(
      [](const LimitField& field, auto& limit, const auto& own) {
        if (field.of == LimitOf::Exec && own.named) limit = own;
      },
      limits, order.limits);
  return limits;
}

EnforcedLimits enforced_for(const SandboxInfo& sandbox, const Limits& limits) {
  EnforcedLimits enforced = sandbox.enforced;
  if (limits.timeout.value.count() > 0) enforced["timeout"] = {concat(limits.timeout.value.count(), " ms"), "timer"};
  if (limits.output.value > 0) enforced["output"] = {format_bytes(limits.output.value), "counter"};
  return enforced;
}

std::string LiveEngine::log_path(const std::string& sandbox, const std::string& exec) const {
  return concat(config_.server_folder, "/logs/", sandbox, "/", exec);
}

std::string LiveEngine::base_path(const std::string& sandbox) const {
  return concat(config_.server_folder, "/bases/", sandbox);
}

void LiveEngine::remove_base(const std::string& sandbox) const {
  static_cast<void>(sys::remove_tree(base_path(sandbox)));
}

void LiveEngine::remove_logs(const std::string& sandbox) const {
  static_cast<void>(sys::remove_tree(concat(config_.server_folder, "/logs/", sandbox)));
}

Result<void> LiveEngine::put_code(LiveSandbox& sandbox, const LanguagePlan& plan, ExecOrder& order) {
  CodePlaces places = places_of(order, *COVE_TRY(find_language(languages_.table(), order.language)));
  if (!order.file.empty() && plan.commands.size() == 1 && !names_class(plan))
    return fill_command(order, plan.commands[0], places), Result<void>();
  SandboxInfo info = sandbox.info();
  std::unique_ptr<View> view = COVE_TRY(sandbox.open_view(order.spec.user.empty() ? info.spec.user : order.spec.user));
  if (!order.file.empty() && names_class(plan)) places.class_name = main_class_of(*view, order.file);
  fill_command(order, COVE_TRY(pick_command(*view, plan, path_variable(config_.preview.site, info, order))), places);
  if (!order.file.empty()) return {};
  if (places.file.starts_with(places.folder)) COVE_TRY(view->mkdir(places.folder, 0755, Depth::One));
  COVE_TRY_NOTE("put the code into the sandbox", write_code(*view, places.file, order.code));
  return {};
}

// What runs the code in this sandbox; the order tells it from now on.
Result<LanguagePlan> LiveEngine::plan_code(const SandboxInfo& sandbox, ExecOrder& order) {
  LanguagePlan plan = COVE_TRY(languages_.plan({order.language, order.version}, sandbox.spec.image));
  order.used = plan.use;
  const bool compiles =
      std::ranges::any_of(plan.commands, [](const CommandLine& each) { return !each.compile.empty(); });
  if (compiles && !runtime_->capabilities_of(sandbox.spec.runtime).compile_step)
    return fail(Error(Code::Unsupported,
                      concat("the runtime '", sandbox.spec.runtime, "' cannot compile ", order.language, " first"))
                    .hint("compile and run it with a command of your own"));
  order.spec.compile = plan.commands.front().compile;
  return plan;
}

LiveExec::Parts LiveEngine::parts_of(const Caller& caller, const SandboxInfo& sandbox, ExecOrder order) const {
  LiveExec::Parts parts;
  parts.info.id = order.spec.id;
  parts.info.sandbox_id = sandbox.spec.id;
  parts.info.started_us = clock_->now_us();
  parts.info.started_ms = parts.info.started_us / 1000;
  parts.limits = limits_in_force(sandbox.spec.limits, order);
  parts.enforced = enforced_for(sandbox, parts.limits);
  parts.project = sandbox.project;
  parts.actor = caller.actor;
  parts.log_path = log_path(sandbox.spec.id, order.spec.id);
  order.code.clear();
  order.input.reset();
  order.limits = parts.limits;
  parts.info.order = std::move(order);
  return parts;
}

Result<std::shared_ptr<Exec>> LiveEngine::exec(const Caller& caller, const std::string& name, ExecOrder order) {
  const Clock::Time start = clock_->now();
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::shared_ptr<void> use = COVE_TRY(begin_use(caller, sandbox));
  COVE_TRY(sandbox->logs().check_room());
  SandboxInfo info = sandbox->info();
  COVE_TRY(secrets_->check(caller, info.spec.agent, order.secrets));
  ExecSecrets secrets = COVE_TRY(secrets_->for_exec(info, order));
  LanguagePlan plan;
  if (!order.language.empty()) plan = COVE_TRY(plan_code(info, order));
  if (sandbox->is_first_use()) pool_.count_first_use(WarmPool::class_of(info.spec), waiting_key(order));
  std::optional<LiveSandbox::Waiting> waiting = sandbox->take_waiting(order, secrets.env);
  order.spec.id = waiting ? waiting->exec_id : make_id();
  if (waiting && !waiting->language.empty()) {
    fill_command(order, plan.commands.front(), {.file = waiting->script});
    pool_.count_interpreter();
  } else if (!order.language.empty()) {
    COVE_TRY(put_code(*sandbox, plan, order));
  }
  std::shared_ptr<LiveExec> exec =
      COVE_TRY(launch(caller, *sandbox, info, std::move(order), std::move(secrets), std::move(waiting)));
  exec_start_seconds_.add(std::chrono::duration<double>(clock_->now() - start).count());
  return exec;
}

Result<std::shared_ptr<LiveExec>> LiveEngine::launch(const Caller& caller, LiveSandbox& sandbox,
                                                     const SandboxInfo& info, ExecOrder order, ExecSecrets secrets,
                                                     std::optional<LiveSandbox::Waiting> waiting) {
  std::optional<std::string> input = std::move(order.input);
  std::string script = std::move(order.code);
  ExecSpec spec = order.spec;
  spec.env = whole_environment(config_.preview.site, info, order, secrets);
  if (spec.cwd.empty() && info.spec.workspace.access == Access::None) spec.cwd = info.spec.image_defaults.cwd;
  LiveExec::Parts parts = parts_of(caller, info, std::move(order));
  parts.ask_network = ask_network(info, parts.info.order);
  parts.mask = std::move(secrets.mask);
  mask_words(parts);
  Json data = {{"argv", parts.info.order.spec.argv}};
  if (!parts.info.order.session.empty()) data["session"] = parts.info.order.session;
  EventDraft event{"exec.started", info.project, info.spec.id,         spec.id,
                   caller.actor,   data.dump(),  parts.info.started_ms};
  if (waiting)
    return sandbox.start_waiting(std::move(parts), std::move(*waiting),
                                 {std::move(spec), std::move(script), std::move(input), std::move(event)});
  ExecRecord record = record_of(parts.info);
  COVE_TRY(store_->insert_exec(record, {&event, 1}));
  crash_point("engine.exec.recorded");
  Result<std::shared_ptr<LiveExec>> exec = sandbox.start_exec(std::move(parts), std::move(spec), std::move(input));
  if (!exec) {
    record.state = kExecEnded;
    record.ended_ms = clock_->now_ms();
    EventDraft ended{"exec.ended",   info.project, info.spec.id, record.id, caller.actor, R"({"status":"failed"})",
                     record.ended_ms};
    const UsageRecord usage{.project = info.project,
                            .sandbox_id = info.spec.id,
                            .session = record.session,
                            .exec_id = record.id,
                            .status = "failed",
                            .started_ms = record.started_ms,
                            .ended_ms = record.ended_ms,
                            .figures = {}};
    static_cast<void>(store_->end_exec(record, usage, {&ended, 1}));
  }
  return exec;
}

Result<std::unique_ptr<CodeRecord>> LiveEngine::record_code(const Caller& caller, const std::string& name,
                                                            ExecOrder order, std::shared_ptr<CodeControl> control) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  LiveExec::Parts parts = parts_of(caller, sandbox->info(), std::move(order));
  parts.mask = secrets_->mask_of(sandbox->info(), parts.info.order);
  const ExecInfo& info = parts.info;
  Json data = {{"context", info.order.context}};
  if (!info.order.session.empty()) data["session"] = info.order.session;
  EventDraft event{"exec.started", parts.project, info.sandbox_id, info.id, caller.actor, data.dump(), info.started_ms};
  COVE_TRY(store_->insert_exec(record_of(info), {&event, 1}));
  return std::make_unique<RecordedCode>(sandbox, sandbox->start_code(std::move(parts), std::move(control)));
}

Result<std::shared_ptr<Exec>> LiveEngine::find_exec(const Caller& caller, const std::string& name,
                                                    const std::string& exec, Scope scope) {
  Result<Shared> found = look_up(caller, name, scope);
  if (!found && found.error().code() == Code::NotFound) {
    RemovedSandbox removed = COVE_TRY(find_removed(caller, name, scope));
    Result<ExecRecord> record = store_->find_exec(removed.id, exec);
    if (!record) return no_exec(exec);
    return make_ended_exec(COVE_TRY(info_of(*record)), log_path(removed.id, exec));
  }
  Shared sandbox = COVE_TRY(std::move(found));
  if (std::shared_ptr<LiveExec> live = sandbox->find_exec(exec)) {
    if (scope == Scope::Run) sandbox->touch();
    return live;
  }
  Result<ExecRecord> record = store_->find_exec(sandbox->id(), exec);
  if (!record) return no_exec(exec);
  // It ended between the two looks.
  if (record->state == kExecRunning)
    if (std::shared_ptr<LiveExec> live = sandbox->find_exec(exec)) return live;
  return make_ended_exec(COVE_TRY(info_of(*record)), log_path(sandbox->id(), exec));
}

// Gone, but its execs are kept; by its id alone, because another may have its name.
Result<RemovedSandbox> LiveEngine::find_removed(const Caller& caller, const std::string& sandbox, Scope scope) {
  RemovedSandbox removed = COVE_TRY(store_->find_removed(caller.project, sandbox));
  if (!caller.only_sandbox.empty() && caller.only_sandbox != removed.id)
    return fail(Code::NotFound, concat("there is no sandbox '", sandbox, "'"));
  if (!caller.scopes.allow(scope)) return fail(Code::Denied, concat("this needs the scope '", scope_name(scope), "'"));
  return removed;
}

// One that runs writes its own down, too, when it ends.
Result<void> LiveEngine::retag_exec(const Caller& caller, const std::string& name, const std::string& exec,
                                    const std::string& tag) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  if (std::shared_ptr<LiveExec> live = sandbox->find_exec(exec)) live->retag(tag);
  return store_->retag_exec(sandbox->id(), exec, tag);
}

Result<Page<ExecInfo>> LiveEngine::list_execs(const Caller& caller, const std::string& name, const ExecFilter& filter,
                                              const std::string& after, size_t limit) {
  Result<Shared> sandbox = look_up(caller, name, Scope::Read);
  if (sandbox) return page_of((*sandbox)->id(), filter, after, limit, sandbox->get());
  if (sandbox.error().code() != Code::NotFound) return std::unexpected(sandbox.error());
  return page_of(COVE_TRY(find_removed(caller, name, Scope::Read)).id, filter, after, limit, nullptr);
}

Result<Page<ExecInfo>> LiveEngine::page_of(const std::string& sandbox, const ExecFilter& filter,
                                           const std::string& after, size_t limit, const LiveSandbox* running_in) {
  Store::ExecFilter wanted;
  if (filter.state) wanted.state = *filter.state == ExecState::Running ? kExecRunning : kExecEnded;
  wanted.tag = filter.tag;
  wanted.session = filter.session;
  wanted.tag_begins = filter.tag_begins;
  std::vector<ExecRecord> records = COVE_TRY(store_->list_execs(sandbox, wanted, after, limit + 1));
  Page<ExecInfo> page;
  for (const ExecRecord& record : records) {
    if (page.items.size() == limit) {
      page.next = cursor(records[limit - 1]);
      break;
    }
    std::shared_ptr<LiveExec> live = running_in ? running_in->find_exec(record.id) : nullptr;
    page.items.push_back(live ? live->info() : COVE_TRY(info_of(record)));
  }
  return page;
}

}  // namespace cove::engine
