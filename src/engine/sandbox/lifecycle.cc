// Sandboxes from one state to the next, to their end. Making them is in making.cc, changing them in changing.cc.
#include <csignal>
#include <thread>

#include "base/crash_point.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/live_engine.h"
#include "engine/record_codec.h"
#include "engine/sandbox/start_view.h"
#include "run/git_author.h"
#include "run/working_folder.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

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

}  // namespace

EventDraft LiveEngine::event_of(const Caller& caller, const SandboxInfo& info, const std::string& kind,
                                std::string data) {
  return {kind, info.project, info.spec.id, "", caller.actor, std::move(data), 0};
}

// The runtime knows nothing of environments: each exec brings its own.
SandboxSpec LiveEngine::runtime_spec(const SandboxInfo& info, const Caller& caller) {
  SandboxSpec spec = info.spec;
  spec.env.clear();
  spec.labels.clear();
  spec.workspace.caller = caller.connection;
  spec.lifetime = Lifetime::Long;
  return spec;
}

void LiveEngine::count_expiry(SandboxInfo& info, int64_t from_ms) {
  info.expires_ms = info.lifecycle.max.count() > 0 ? from_ms + info.lifecycle.max.count() : 0;
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
    if (ready && !spec.restarted) ready = write_git_author(**handle, info.spec);
    if (ready) ready = secrets_->install(**handle, info);
    if (ready) ready = begin_network(info, **handle);
    if (!ready) {
      networks_.end(sandbox.id());
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
  info.started_ms = clock_->now_ms();
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
  if (sandbox->info().spec.one_use)
    return fail(Error(Code::Conflict, concat("stop sandbox ", sandbox->id(),
                                             ": it is for one use, and its files are "
                                             "not kept"))
                    .hint("delete it"));
  COVE_TRY(stop_locked(caller, *sandbox, grace, concat("it was stopped by ", caller.actor), "sandbox.stopped"));
  return sandbox->info();
}

Result<void> LiveEngine::stop_locked(const Caller& caller, LiveSandbox& sandbox, std::chrono::milliseconds grace,
                                     const std::string& reason, const std::string& kind) {
  if (grace.count() > 0 && sandbox.state() == State::Running && sandbox.running_execs() > 0) {
    sandbox.signal_all(SIGTERM);
    Clock::Time until = clock_->now() + grace;
    while (sandbox.running_execs() > 0 && clock_->now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  crash_point("engine.stop.recorded");
  networks_.end(sandbox.id());
  std::unique_ptr<Sandbox> handle = sandbox.give_handle("its sandbox was stopped");
  if (handle) COVE_TRY_NOTE(concat("stop sandbox ", sandbox.id()), handle->destroy(Files::Keep));
  SandboxInfo info = sandbox.info();
  info.state = State::Stopped;
  info.reason = reason;
  info.expires_ms = 0;
  admission_.give_memory(info.project, info.spec.limits.memory.value);
  COVE_TRY(record(caller, sandbox, std::move(info), kind, Json({{"reason", reason}}).dump()));
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

// --- the end ---------------------------------------------------------------------------------------------------------

Result<void> LiveEngine::remove(const Caller& caller, const std::string& name) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Deleting) return fail(Code::NotFound, concat("there is no sandbox '", name, "'"));
  Result<void> removed = remove_locked(caller, sandbox, "sandbox.deleted");
  jobs_.add([this] { pool_.go_on(); });  // by then the caller has his answer
  return removed;
}

// The record goes first: whatever the server does not know is swept away by the next one.
Result<void> LiveEngine::remove_locked(const Caller& caller, const Shared& sandbox, const std::string& kind) {
  SandboxInfo info = sandbox->info();
  const bool running = info.state != State::Stopped;
  networks_.end(info.spec.id);
  std::unique_ptr<Sandbox> handle = sandbox->give_handle("its sandbox was deleted");
  COVE_TRY(unrecord(caller, *sandbox, kind));
  crash_point("engine.delete.recorded");
  info.state = State::Deleting;
  drop(sandbox);
  networks_.forget(info.spec.id);
  sandbox->set_info(info);
  admission_.leave(info.project, info.spec.limits, running ? Admission::Memory::Used : Admission::Memory::Unused);
  if (info.spec.workspace.access == Access::Review) remove_base(info.spec.id);
  if (!handle || !handle->quiet()) return tear_down(info, handle.get());
  jobs_.add_for_later([this, info, handle = std::shared_ptr<Sandbox>(std::move(handle))] {
    if (Result<void> gone = tear_down(info, handle.get()); !gone)
      log::warning("a deleted sandbox was not removed", {{"sandbox", info.spec.id}, {"why", gone.error().message()}});
  });
  return {};
}

Result<void> LiveEngine::unrecord(const Caller& caller, LiveSandbox& sandbox, const std::string& kind) {
  constexpr uint64_t kOfSandbox = 8192;  // its folder, and what is on record of it
  const SandboxInfo info = sandbox.info();
  EventDraft event = event_of(caller, info, kind, "{}");
  const uint64_t bytes = sandbox.logs().used();
  if (config_.retention.execs.count() == 0 || bytes == 0) {
    COVE_TRY(store_->remove_sandbox(info.spec.id, {&event, 1}));
    remove_logs(info.spec.id);
    return {};
  }
  const RemovedSandbox removed{info.spec.id, info.project, clock_->now_ms(), bytes + kOfSandbox};
  COVE_TRY(store_->retire_sandbox(removed, {&event, 1}));
  sandbox.logs().release();
  kept_execs_.add(removed);
  return {};
}

void LiveEngine::drop_kept_execs(const std::string& sandbox) {
  jobs_.add([this, sandbox] {
    static_cast<void>(store_->forget_removed(sandbox));
    remove_logs(sandbox);
  });
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
  jobs_.add([this, sandbox, why] {
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

}  // namespace cove::engine
