// Making, changing and ending sandboxes.
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/live/clock.h"
#include "engine/live/live_engine.h"
#include "engine/live/record_codec.h"
#include "engine/live/review_base.h"
#include "engine/live/start_view.h"
#include "engine/working_folder.h"
#include "image/catalogue.h"
#include "runtime/oci/programs.h"
#include "sys/file.h"

namespace cove::live {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

const char* possible(State state) {
  switch (state) {
    case State::Running:
      return "it can be paused, stopped or deleted";
    case State::Paused:
      return "it can be resumed, stopped or deleted";
    case State::Stopped:
      return "it can be started or deleted";
    default:
      return "wait until that is done";
  }
}

std::unexpected<Error> wrong_state(const LiveSandbox& sandbox, const char* wish) {
  State state = sandbox.state();
  return fail(Error(Code::Conflict, concat(wish, " sandbox ", sandbox.id(), ": it is ", state_name(state)))
                  .hint(possible(state)));
}

EventDraft event_of(const Caller& caller, const SandboxInfo& info, const std::string& kind, std::string data) {
  return {kind, info.project, info.spec.id, "", caller.actor, std::move(data), 0};
}

// Limits that the caller did not name are the configuration's.
void complete(Limits& limits, const Limits& defaults) {
  auto fill = [](auto& limit, const auto& standard) {
    if (!limit.named) limit.value = standard.value;
  };
  fill(limits.cpus, defaults.cpus);
  fill(limits.memory, defaults.memory);
  fill(limits.disk, defaults.disk);
  fill(limits.inodes, defaults.inodes);
  fill(limits.processes, defaults.processes);
  fill(limits.open_files, defaults.open_files);
  fill(limits.file_size, defaults.file_size);
  fill(limits.io_read, defaults.io_read);
  fill(limits.io_write, defaults.io_write);
  fill(limits.timeout, defaults.timeout);
  fill(limits.output, defaults.output);
  if (limits.disk.value == 0) limits.disk.value = kDefaultDisk;
}

void take_image(const ImageConfig& config, SandboxSpec& spec) {
  spec.image_defaults = {config.env, config.entrypoint, config.cmd, config.cwd};
  if (spec.user.empty()) spec.user = user_of_image(config);
}

// The runtime knows nothing of environments: each exec brings its own.
SandboxSpec runtime_spec(const SandboxInfo& info, const Caller& caller) {
  SandboxSpec spec = info.spec;
  spec.env.clear();
  spec.labels.clear();
  spec.workspace.caller = caller.connection;
  spec.lifetime = Lifetime::Long;
  return spec;
}

// To a control group that exists, 0 is not none, but nothing at all.
Result<void> refuse_lifting(const Limits& limits) {
  auto lifts = [](const auto& limit) { return limit.named && limit.value == 0; };
  const char* lifted = lifts(limits.cpus)        ? "cpus"
                       : lifts(limits.memory)    ? "memory"
                       : lifts(limits.processes) ? "processes"
                                                 : nullptr;
  if (!lifted) return {};
  return fail(Error(Code::Conflict, concat("the limit '", std::string_view(lifted),
                                           "' of a running sandbox can be changed, but not taken away (0)"))
                  .hint("stop it first"));
}

}  // namespace

void LiveEngine::count_expiry(SandboxInfo& info, int64_t from_ms) {
  info.expires_ms = info.lifecycle.max.count() > 0 ? from_ms + info.lifecycle.max.count() : 0;
}

Result<Config::Quotas> LiveEngine::quotas_of(const std::string& project) {
  ProjectRecord record = COVE_TRY(store_->find_project(project));
  Config::Quotas quotas = config_.quotas;
  nlohmann::json json = nlohmann::json::parse(record.quotas, nullptr, false);
  if (!json.is_object()) return quotas;
  auto take = [&](const char* name, uint64_t& quota) {
    if (json.contains(name) && json[name].is_number_unsigned()) quota = json[name].get<uint64_t>();
  };
  take("sandboxes", quotas.sandboxes);
  take("memory", quotas.memory);
  take("disk", quotas.disk);
  return quotas;
}

// --- create ----------------------------------------------------------------------------------------------------------

Result<std::optional<SandboxInfo>> LiveEngine::earlier_answer(const CreateOrder& order, const std::string& project) {
  std::optional<Idempotency> earlier = COVE_TRY(store_->find_idempotency(project, order.idempotency_key));
  if (!earlier) return std::optional<SandboxInfo>();
  if (earlier->request_hash != order.request_hash)
    return fail(Error(Code::Conflict, "this idempotency key was used for another request")
                    .hint("use a new key for each new request"));
  std::shared_lock lock(mutex_);
  auto found = by_id_.find(earlier->sandbox_id);
  if (found == by_id_.end())
    return fail(Code::NotFound, concat("sandbox ", earlier->sandbox_id, ", which this request made, is gone"));
  return std::optional(found->second->info());
}

Result<SandboxInfo> LiveEngine::create(const Caller& caller, CreateOrder order) {
  if (!caller.scopes.allow(Scope::Run) || !caller.only_sandbox.empty())
    return fail(Code::Denied, "making sandboxes needs the scope 'run'");
  if (order.idempotency_key.empty()) return make(caller, std::move(order));
  // The same request, sent again while the first is being worked on, waits for its outcome.
  std::pair key(caller.project, order.idempotency_key);
  {
    std::unique_lock lock(making_mutex_);
    made_.wait(lock, [&] { return !making_.contains(key); });
    making_.insert(key);
  }
  Result<std::optional<SandboxInfo>> earlier = earlier_answer(order, caller.project);
  Result<SandboxInfo> made = !earlier   ? std::unexpected(earlier.error())
                             : *earlier ? Result<SandboxInfo>(std::move(**earlier))
                                        : make(caller, std::move(order));
  {
    std::lock_guard lock(making_mutex_);
    making_.erase(key);
  }
  made_.notify_all();
  return made;
}

// Which image it is, to the byte, and what that says about users and variables. What is returned keeps it there.
Result<std::shared_ptr<void>> LiveEngine::settle_image(SandboxSpec& spec) {
  if (is_host_image(spec.image)) {
    if (spec.user.empty()) spec.user = SandboxSpec().user;
    return std::shared_ptr<void>();
  }
  if (runtime_->capabilities_of(spec.runtime).own_images) {
    take_image(COVE_TRY(runtime_->image(spec.runtime, spec.image)), spec);
    return std::shared_ptr<void>();
  }
  Images::Use use = COVE_TRY(images_->use(spec.image));
  spec.image = use.reference;
  take_image(use.config, spec);
  return use.hold;
}

// The image, where it is left to the language; and the key of the interpreter that may wait in the sandbox.
Result<std::string> LiveEngine::settle_language(CreateOrder& order) {
  if (order.language.name.empty()) return std::string();
  if (runtime_->capabilities_of(order.spec.runtime).own_images) {
    if (order.spec.image.empty()) order.spec.image = SandboxSpec().image;
    return std::string();
  }
  std::string image = order.spec.image;
  if (!image.empty() && !is_host_image(image)) image = COVE_TRY(images_->find_reference(image));
  LanguagePlan plan = COVE_TRY(languages_.plan(order.language, image));
  if (image.empty()) order.spec.image = plan.use.image;
  return order.code_follows ? waiting_key(plan.use) : std::string();
}

Result<SandboxInfo> LiveEngine::make(const Caller& caller, CreateOrder order) {
  Clock::time_point start = Clock::now();
  SandboxInfo info;
  order.spec.runtime = COVE_TRY(oci::settle_runtime(order.spec.runtime.empty() ? config_.runtime : order.spec.runtime));
  std::string key = COVE_TRY(settle_language(order));
  std::shared_ptr<void> image = COVE_TRY(settle_image(order.spec));
  info.spec = order.spec;
  info.spec.lifetime = Lifetime::Long;
  complete(info.spec.limits, config_.limits);
  info.project = caller.project;
  info.lifecycle = order.lifecycle;
  info.binding = order.binding;
  info.created_ms = info.last_used_ms = now_ms();
  Config::Quotas quotas = COVE_TRY(quotas_of(caller.project));
  Result<void> entered = admission_.enter(caller.project, quotas, info.spec.limits, room_.read());
  if (!entered) {
    note(caller, "request.refused", "", "", nlohmann::json({{"why", entered.error().message()}}).dump());
    return std::unexpected(entered.error());
  }
  std::optional<Blank> blank = order.start ? pool_.take(runtime_spec(info, caller), key) : std::nullopt;
  info.spec.id = blank ? blank->spec.id : make_id();
  if (!info.spec.name.empty()) {
    std::unique_lock lock(mutex_);
    auto [named, is_new] = by_name_.try_emplace({info.project, info.spec.name}, info.spec.id);
    if (!is_new) {
      admission_.leave(caller.project, info.spec.limits, Admission::Memory::Used);
      return fail(Error(Code::Exists, concat("project ", info.project, " has a sandbox '", info.spec.name, "' already"))
                      .hint(concat("it is ", named->second)));
    }
  }
  Result<Shared> raised = raise(caller, info, order, std::move(blank));
  if (!raised) {
    if (info.spec.workspace.access == Access::Review) remove_logs(info.spec.id);
    admission_.leave(caller.project, info.spec.limits, Admission::Memory::Used);
    std::unique_lock lock(mutex_);
    auto named = by_name_.find({info.project, info.spec.name});
    if (named != by_name_.end() && named->second == info.spec.id) by_name_.erase(named);
    return std::unexpected(raised.error());
  }
  create_seconds_.add(seconds_since(start));
  crash_point("engine.create.acknowledged");
  return (*raised)->info();
}

// What is in the folder before anything in the sandbox can have changed what it sees of it. It goes with the logs.
Result<std::vector<std::string>> LiveEngine::record_base_of(const Caller& caller, const SandboxInfo& info) {
  Workspace workspace = info.spec.workspace;
  workspace.caller = caller.connection;
  change::BaseHead head =
      COVE_TRY(record_base(*runtime_, workspace, concat(config_.server_folder, "/logs/", info.spec.id, "/base")));
  if (head.uncovered == 0) return std::vector<std::string>();
  return std::vector<std::string>{
      concat("paths of the workspace that are not, or not wholly, on record: ", head.uncovered)};
}

Result<void> LiveEngine::pin(const Caller& caller, Workspace& workspace) {
  // One that is noted already is looked at by whoever opens it.
  if (workspace.access == Access::None || workspace.inode != 0) return {};
  Workspace asked = workspace;
  asked.caller = caller.connection;
  COVE_TRY(runtime_->pin_workspace(asked));
  workspace.device = asked.device;
  workspace.inode = asked.inode;
  return {};
}

// Builds it, then records it: what is not on record when the server dies was never acknowledged, and is swept away.
Result<LiveEngine::Shared> LiveEngine::raise(const Caller& caller, SandboxInfo info, const CreateOrder& order,
                                             std::optional<Blank> blank) {
  std::unique_ptr<Sandbox> handle;
  std::vector<std::string> gaps;
  COVE_TRY(pin(caller, info.spec.workspace));
  if (info.spec.workspace.access == Access::Review) gaps = COVE_TRY(record_base_of(caller, info));
  if (order.start) {
    handle = blank ? std::move(blank->handle) : COVE_TRY(runtime_->create(runtime_spec(info, caller)));
    Result<void> ready = handle->ready();
    if (ready && !blank) ready = make_working_folder(*handle, info.spec);
    if (!ready) {
      static_cast<void>(handle->destroy(Files::Remove));
      return std::unexpected(ready.error());
    }
    crash_point("engine.create.built");
    info.enforced = handle->enforced();
    info.warnings = handle->warnings();
    info.warnings.insert(info.warnings.end(), gaps.begin(), gaps.end());
    info.state = State::Running;
    info.started_ms = now_ms();
  } else {
    info.state = State::Stopped;
    info.reason = "it was not started yet";
    admission_.give_memory(info.project, info.spec.limits.memory.value);
  }
  count_expiry(info, info.created_ms);
  std::optional<Idempotency> idempotency;
  if (!order.idempotency_key.empty())
    idempotency = Idempotency{info.project, order.idempotency_key, order.request_hash, info.spec.id, info.created_ms};
  EventDraft event = event_of(caller, info, "sandbox.created",
                              nlohmann::json({{"image", info.spec.image}, {"state", state_name(info.state)}}).dump());
  Result<uint64_t> recorded = store_->insert_sandbox(record_of(info), idempotency, {&event, 1});
  crash_point("engine.create.recorded");
  if (!recorded) {
    if (handle) static_cast<void>(handle->destroy(Files::Remove));
    return std::unexpected(recorded.error());
  }
  Shared sandbox = make_live(std::move(info));
  if (handle) COVE_TRY(sandbox->take_handle(std::move(handle)));
  if (blank && !blank->exec_id.empty())
    sandbox->keep_waiting({blank->language, blank->exec_id, std::move(blank->streams)});
  add(sandbox);
  return sandbox;
}

// --- changes of state ------------------------------------------------------------------------------------------------

Result<void> LiveEngine::record(const Caller& caller, LiveSandbox& sandbox, SandboxInfo info, const std::string& kind,
                                const std::string& data) {
  EventDraft event = event_of(caller, info, kind, data);
  COVE_TRY(store_->update_sandbox(record_of(info), {&event, 1}));
  sandbox.set_info(std::move(info));
  return {};
}

Result<SandboxInfo> LiveEngine::start(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Running) return sandbox->info();
  if (sandbox->state() != State::Stopped) return wrong_state(*sandbox, "start");
  COVE_TRY(start_locked(caller, *sandbox));
  return sandbox->info();
}

Result<void> LiveEngine::start_locked(const Caller& caller, LiveSandbox& sandbox) {
  SandboxInfo info = sandbox.info();
  COVE_TRY(admission_.take_memory(info.project, COVE_TRY(quotas_of(info.project)), info.spec.limits.memory.value));
  SandboxSpec spec = runtime_spec(info, caller);
  // One that has never run has no files yet.
  spec.restarted = info.started_ms > 0;
  Result<std::unique_ptr<Sandbox>> handle = runtime_->create(spec);
  if (handle) {
    Result<void> ready = (*handle)->ready();
    if (ready && !spec.restarted) ready = make_working_folder(**handle, info.spec);
    if (!ready) {
      static_cast<void>((*handle)->destroy(Files::Keep));
      handle = std::unexpected(ready.error());
    }
  }
  if (!handle) {
    admission_.give_memory(info.project, info.spec.limits.memory.value);
    return fail(std::move(handle.error()).note(concat("start sandbox ", sandbox.id())));
  }
  crash_point("engine.start.recorded");
  info.enforced = (*handle)->enforced();
  info.warnings = (*handle)->warnings();
  info.state = State::Running;
  info.reason.clear();
  info.started_ms = now_ms();
  count_expiry(info, info.started_ms);
  COVE_TRY(sandbox.take_handle(std::move(*handle)));
  sandbox.touch();
  COVE_TRY(record(caller, sandbox, std::move(info), "sandbox.started"));
  crash_point("engine.start.done");
  return {};
}

Result<SandboxInfo> LiveEngine::stop(const Caller& caller, const std::string& name, std::chrono::milliseconds grace) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Stopped) return sandbox->info();
  if (sandbox->state() != State::Running && sandbox->state() != State::Paused) return wrong_state(*sandbox, "stop");
  COVE_TRY(stop_locked(caller, *sandbox, grace, concat("it was stopped by ", caller.actor), "sandbox.stopped"));
  return sandbox->info();
}

Result<void> LiveEngine::stop_locked(const Caller& caller, LiveSandbox& sandbox, std::chrono::milliseconds grace,
                                     const std::string& reason, const std::string& kind) {
  if (grace.count() > 0 && sandbox.state() == State::Running && sandbox.running_execs() > 0) {
    sandbox.signal_all(SIGTERM);
    Clock::time_point until = Clock::now() + grace;
    while (sandbox.running_execs() > 0 && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  crash_point("engine.stop.recorded");
  std::unique_ptr<Sandbox> handle = sandbox.give_handle("its sandbox was stopped");
  if (handle) COVE_TRY_NOTE(concat("stop sandbox ", sandbox.id()), handle->destroy(Files::Keep));
  SandboxInfo info = sandbox.info();
  info.state = State::Stopped;
  info.reason = reason;
  info.expires_ms = 0;
  admission_.give_memory(info.project, info.spec.limits.memory.value);
  COVE_TRY(record(caller, sandbox, std::move(info), kind, nlohmann::json({{"reason", reason}}).dump()));
  crash_point("engine.stop.done");
  return {};
}

Result<SandboxInfo> LiveEngine::pause(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Paused) return sandbox->info();
  if (sandbox->state() != State::Running) return wrong_state(*sandbox, "pause");
  COVE_TRY(pause_locked(caller, *sandbox, concat("it was paused by ", caller.actor)));
  return sandbox->info();
}

Result<void> LiveEngine::pause_locked(const Caller& caller, LiveSandbox& sandbox, const std::string& reason) {
  COVE_TRY_NOTE(concat("pause sandbox ", sandbox.id()), sandbox.freeze());
  SandboxInfo info = sandbox.info();
  info.state = State::Paused;
  info.reason = reason;
  return record(caller, sandbox, std::move(info), "sandbox.paused");
}

Result<SandboxInfo> LiveEngine::resume(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Running) return sandbox->info();
  if (sandbox->state() != State::Paused) return wrong_state(*sandbox, "resume");
  COVE_TRY(resume_locked(caller, *sandbox));
  return sandbox->info();
}

Result<void> LiveEngine::resume_locked(const Caller& caller, LiveSandbox& sandbox) {
  COVE_TRY_NOTE(concat("resume sandbox ", sandbox.id()), sandbox.thaw());
  SandboxInfo info = sandbox.info();
  info.state = State::Running;
  info.reason.clear();
  sandbox.touch();
  return record(caller, sandbox, std::move(info), "sandbox.resumed");
}

Result<SandboxInfo> LiveEngine::renew(const Caller& caller, const std::string& name,
                                      std::optional<std::chrono::milliseconds> idle,
                                      std::optional<std::chrono::milliseconds> max) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  sandbox->touch();
  SandboxInfo info = sandbox->info();
  if (idle) info.lifecycle.idle = *idle;
  if (max) info.lifecycle.max = *max;
  if (info.state == State::Running || info.state == State::Paused) count_expiry(info, now_ms());
  COVE_TRY(record(caller, *sandbox, info, "sandbox.renewed"));
  return sandbox->info();
}

Result<SandboxInfo> LiveEngine::update(const Caller& caller, const std::string& name, const UpdateOrder& order) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  SandboxInfo info = sandbox->info();
  const std::string old_name = info.spec.name;
  if (order.limits && sandbox->has_handle()) {
    const Capabilities can = runtime_->capabilities_of(info.spec.runtime);
    if (!can.update_limits)
      return fail(
          Error(Code::Unsupported, concat("the runtime ", can.name, " cannot change the limits of a running sandbox"))
              .hint("stop it first"));
    const Limits& wanted = *order.limits;
    if (wanted.disk.named || wanted.inodes.named || wanted.io_read.named || wanted.io_write.named)
      return fail(
          Error(Code::Conflict, "the limits on the disk of a running sandbox cannot be changed").hint("stop it first"));
    COVE_TRY(refuse_lifting(*order.limits));
    COVE_TRY_NOTE(concat("change the limits of sandbox ", sandbox->id()), sandbox->update_limits(*order.limits));
  }
  if (order.limits) {
    Limits changed = *order.limits;
    Limits& now = info.spec.limits;
    auto take = [](auto& limit, const auto& wanted) {
      if (wanted.named) limit = wanted;
    };
    uint64_t memory_before = now.memory.value;
    take(now.cpus, changed.cpus), take(now.memory, changed.memory), take(now.disk, changed.disk);
    take(now.inodes, changed.inodes), take(now.processes, changed.processes), take(now.open_files, changed.open_files);
    take(now.file_size, changed.file_size), take(now.timeout, changed.timeout), take(now.output, changed.output);
    take(now.io_read, changed.io_read), take(now.io_write, changed.io_write);
    if (info.state != State::Stopped) {
      admission_.give_memory(info.project, memory_before);
      static_cast<void>(admission_.take_memory(info.project, {}, now.memory.value));
    }
    auto say = [&](const char* limit, std::string value) {
      if (info.enforced.contains(limit)) info.enforced[limit].value = std::move(value);
    };
    if (changed.memory.named) say("memory", format_bytes(now.memory.value));
    if (changed.processes.named) say("processes", std::to_string(now.processes.value));
    if (changed.cpus.named) say("cpus", concat(now.cpus.value));
    if (changed.open_files.named) say("open_files", std::to_string(now.open_files.value));
    if (changed.file_size.named) {
      info.enforced.erase("file_size");
      if (now.file_size.value > 0) info.enforced["file_size"] = {format_bytes(now.file_size.value), "rlimit"};
    }
  }
  if (order.labels) info.spec.labels = *order.labels;
  if (order.env) info.spec.env = *order.env;
  if (order.idle) info.lifecycle.idle = *order.idle;
  if (order.max) info.lifecycle.max = *order.max;
  if (order.max && info.state != State::Stopped) count_expiry(info, now_ms());
  if (order.on_expire) info.lifecycle.on_expire = *order.on_expire;
  if (order.auto_resume) info.lifecycle.auto_resume = *order.auto_resume;
  if (order.name) info.spec.name = *order.name;
  COVE_TRY(record(caller, *sandbox, info, "sandbox.updated"));
  if (info.spec.name != old_name) {
    std::unique_lock names(mutex_);
    by_name_.erase({info.project, old_name});
    if (!info.spec.name.empty()) by_name_[{info.project, info.spec.name}] = info.spec.id;
  }
  return sandbox->info();
}

// --- the end ---------------------------------------------------------------------------------------------------------

Result<void> LiveEngine::remove(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Deleting) return fail(Code::NotFound, concat("there is no sandbox '", name, "'"));
  Result<void> removed = remove_locked(caller, sandbox, "sandbox.deleted");
  errands_.add([this] { pool_.go_on(); });  // by then the caller has his answer
  return removed;
}

// The record goes first: whatever the server does not know is swept away by the next one.
Result<void> LiveEngine::remove_locked(const Caller& caller, const Shared& sandbox, const std::string& kind) {
  SandboxInfo info = sandbox->info();
  const bool running = info.state != State::Stopped;
  std::unique_ptr<Sandbox> handle = sandbox->give_handle("its sandbox was deleted");
  EventDraft event = event_of(caller, info, kind, "{}");
  COVE_TRY(store_->remove_sandbox(info.spec.id, {&event, 1}));
  crash_point("engine.delete.recorded");
  info.state = State::Deleting;
  drop(sandbox);
  sandbox->set_info(info);
  admission_.leave(info.project, info.spec.limits, running ? Admission::Memory::Used : Admission::Memory::Unused);
  remove_logs(info.spec.id);
  if (!handle || !handle->quiet()) return tear_down(info, handle.get());
  errands_.add_for_later([this, info, handle = std::shared_ptr<Sandbox>(std::move(handle))] {
    if (Result<void> gone = tear_down(info, handle.get()); !gone)
      log::warning("a deleted sandbox was not removed", {{"sandbox", info.spec.id}, {"why", gone.error().message()}});
  });
  return {};
}

Result<void> LiveEngine::tear_down(const SandboxInfo& info, Sandbox* handle) {
  Result<void> gone = handle                ? handle->destroy(Files::Remove)
                      : info.started_ms > 0 ? runtime_->remove_files(info.spec)
                                            : Result<void>();
  // Whoever was to end it may have been killed on the way.
  if (!gone) gone = runtime_->remove_files(info.spec);
  crash_point("engine.delete.destroyed");
  if (!gone) return fail(std::move(gone.error()).note(concat("delete sandbox ", info.spec.id)));
  return {};
}

void LiveEngine::on_gone(const Shared& sandbox, const SandboxEnded& end) {
  std::string why = end.error           ? end.error->message()
                    : end.out_of_memory ? "it used more memory than its limit, and its watcher ended it"
                                        : "its process 1 ended";
  // Not by this thread: it may be the pump's, and somebody may be changing the sandbox.
  errands_.add([this, sandbox, why] {
    std::lock_guard lock(sandbox->changing);
    State state = sandbox->state();
    if (state != State::Running && state != State::Paused) return;
    static_cast<void>(stop_locked(Caller(), *sandbox, std::chrono::milliseconds(0), why, "sandbox.failed"));
  });
}

// --- use -------------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<void>> LiveEngine::begin_use(const Caller& caller, const Shared& sandbox) {
  std::shared_ptr<void> use = sandbox->begin_use();
  // Without its handle it is about to stop or to go: what comes of that is waited for.
  if (sandbox->state() == State::Running && sandbox->has_handle()) return use;
  std::lock_guard lock(sandbox->changing);
  SandboxInfo info = sandbox->info();
  if (info.state == State::Deleting) return fail(Code::NotFound, concat("there is no sandbox '", sandbox->id(), "'"));
  if (info.state == State::Paused && info.lifecycle.auto_resume) {
    COVE_TRY(resume_locked(caller, *sandbox));
  } else if (info.state == State::Stopped && info.lifecycle.auto_resume) {
    COVE_TRY(start_locked(caller, *sandbox));
  } else if (info.state != State::Running) {
    const char* remedy = info.state == State::Paused    ? "resume it first, or make it with lifecycle.auto_resume"
                         : info.state == State::Stopped ? "start it first, or make it with lifecycle.auto_resume"
                                                        : "";
    return fail(Error(Code::Conflict, concat("sandbox ", sandbox->id(), " is ", state_name(info.state),
                                             info.reason.empty() ? "" : concat(": ", info.reason)))
                    .hint(remedy));
  }
  return use;
}

Result<std::shared_ptr<void>> LiveEngine::use(const Caller& caller, const std::string& name) {
  return begin_use(caller, COVE_TRY(look_up(caller, name, Scope::Run)));
}

Result<Engine::FileLease> LiveEngine::files(const Caller& caller, const std::string& name, const std::string& user,
                                            Scope scope) {
  Shared sandbox = COVE_TRY(look_up(caller, name, scope));
  std::shared_ptr<void> use = COVE_TRY(begin_use(caller, sandbox));
  std::string as = user.empty() ? sandbox->info().spec.user : user;
  std::unique_ptr<View> view = COVE_TRY(sandbox->open_view(as));
  if (sandbox->has_waiting())
    view = watch_start(std::move(view), [sandbox] { sandbox->give_up_waiting(LiveSandbox::What::Interpreter); });
  return FileLease{sandbox->id(), sandbox->project(), std::move(view), std::move(use)};
}

}  // namespace cove::live
