#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/background_jobs.h"
#include "engine/context/turns.h"
#include "engine/engine.h"
#include "engine/session/host_execs.h"
#include "engine/session/session_info.h"

namespace cove::engine {

// Sessions: who uses which sandbox, without naming one. The sandbox is made at the first use, by exactly one of those
// who come at once; where it was deleted, the next use makes another; a stopped or paused one goes on.
//
// Everything is in the store, where a sandbox's own record says whom it serves: a server that is killed leaves nothing
// half bound. Thread-safe. Errors as the engine's; Conflict, with the reason, where a session has ended, and where the
// sandbox that serves the scope is not as the session asks for.
class Sessions {
 public:
  // The engine must outlive it.
  static std::unique_ptr<Sessions> open(Engine& engine);
  ~Sessions();
  Sessions(const Sessions&) = delete;

  Result<SessionInfo> start(const Caller& caller, SessionOrder order);
  Result<SessionInfo> find(const Caller& caller, const std::string& id);
  Result<Page<SessionInfo>> list(const Caller& caller, const SessionFilter& filter, const std::string& after,
                                 size_t limit);
  // Acts on its sandbox, too, before it returns. Conflict where that serves other sessions.
  Result<SessionInfo> change_network(const Caller& caller, const std::string& id, const NetworkChange& change);
  // Its running execs end, and its sandbox goes where it was the session's own. One that has ended stays as it is.
  Result<void> end(const Caller& caller, const std::string& id);

  // Counts as a use of the session.
  Result<SessionInfo> use(const Caller& caller, const std::string& id);
  // The sandbox for a session that is in use.
  Result<SandboxInfo> sandbox_for(const Caller& caller, const SessionInfo& session);
  // The sandbox of an agent or of the whole project, for somebody without a session.
  Result<SandboxInfo> sandbox_for(const Caller& caller, const SessionOrder& order);
  // One that serves no other call, to be removed after its one use. `binding` says what the next server does with it,
  // should this one end before: kCallBinding, it is removed with what runs there; kStreamBinding, see
  // `followed_execs`.
  Result<SandboxInfo> passing_sandbox(const Caller& caller, const SessionOrder& order, const ExecOrder& use,
                                      std::string_view binding);
  // Those that ran for a stream when an earlier server ended: its caller may come back for the rest.
  std::vector<std::shared_ptr<Exec>> followed_execs();
  // Whether what failed with this code did so because somebody was about to stop or delete the sandbox.
  bool worth_another_try(const Caller& caller, const std::string& sandbox_id, Code code);

  // `order.placed` is the caller's; session and environment are added.
  Result<std::shared_ptr<Exec>> exec(const Caller& caller, const SessionInfo& session, const ExecOrder& order);
  // The same in the sandbox that was just found for it.
  Result<std::shared_ptr<Exec>> exec_in(const Caller& caller, const SessionInfo& session, const std::string& sandbox_id,
                                        const ExecOrder& order);
  // Those of this session in the sandbox that it has now.
  Result<Page<ExecInfo>> list_execs(const Caller& caller, const std::string& id, Engine::ExecFilter filter,
                                    const std::string& after, size_t limit);

  // While it lives, what is started on the host for this caller is the session's, and ends with it.
  Result<HostExecs::Use> on_host(const Caller& caller, const SessionInfo& session);
  HostExecs& host_execs() { return host_execs_; }

  // Ends the thread that keeps house.
  void stop();

 private:
  explicit Sessions(Engine& engine) : engine_(engine), store_(engine.store()) {}

  Result<void> check_secrets(const Caller& caller, const SessionOrder& order);
  Result<void> check_order(const Caller& caller, const SessionOrder& order);
  Result<void> check_runtime(const std::string& named);
  Result<void> check_network_of(const SandboxSpec& spec);
  Result<SandboxInfo> find_or_make(const Caller& caller, const SessionOrder& order, const std::string& session_id);
  Result<std::optional<SandboxInfo>> find_bound(const Caller& caller, const std::string& binding);
  Result<SandboxInfo> make(const Caller& caller, const SessionOrder& order, const std::string& session_id);
  Result<void> bind(const Caller& caller, const SessionInfo& session, const std::string& sandbox_id);
  Result<void> end_now(const Caller& caller, const SessionInfo& session, const Store::SessionEnd& end);
  Result<void> finish_end(const Caller& caller, const SessionInfo& session);
  Result<void> clear_up(const Caller& caller, const SessionInfo& session);
  Result<void> end_execs(const Caller& caller, const SessionInfo& session);

  void keep_house();
  void expire();
  void expire(const SessionRecord& record);
  bool used_since(const SessionInfo& session);
  void remove_calls();
  void remove_orphans();
  void remove_bound(const SandboxRecord& record);

  Engine& engine_;
  Store& store_;
  Turns turns_;  // by project and binding: to make the sandbox of it, or to end it
  HostExecs host_execs_;
  std::vector<SandboxRecord> calls_;  // sandboxes for calls to a server that was killed

  std::mutex house_mutex_;
  std::condition_variable house_wake_;
  bool stopping_ = false;
  std::thread house_;
};

// The order with what the session gives to each of its execs.
ExecOrder order_in_session(const SessionInfo& session, ExecOrder order);

}  // namespace cove::engine
