#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/exec/live_exec.h"
#include "engine/exec/pump.h"
#include "engine/sandbox/live_code.h"
#include "engine/sandbox_info.h"
#include "runtime/runtime.h"

namespace cove::engine {

// A sandbox in the server's memory: what is on record about it, the runtime's handle while it runs, and its execs.
//
// Locks, in the order of taking: `changing` (held through a change of state, by one caller at a time), the handle's
// (short; whoever lets go of it first takes what process 1 has said meanwhile), the one of the values.
class LiveSandbox : public ExecHost, public Pump::Source, public std::enable_shared_from_this<LiveSandbox> {
 public:
  // What happens to it that nobody asked for: process 1 is gone.
  using OnGone = std::function<void(const std::shared_ptr<LiveSandbox>&, const SandboxEnded&)>;
  LiveSandbox(const ExecTools& tools, SandboxInfo info, std::shared_ptr<LogBudget> logs, OnGone on_gone);
  ~LiveSandbox() override;

  std::mutex changing;
  std::shared_ptr<void> image;  // keeps it from being removed

  SandboxInfo info() const;
  void set_info(SandboxInfo info);
  State state() const;
  const std::string& id() const { return id_; }
  const std::string& project() const { return project_; }
  LogBudget& logs() { return *logs_; }

  // Use, for the idle time.
  void touch();
  int64_t last_used_ms() const { return last_used_ms_.load(std::memory_order_relaxed); }
  // While it exists the sandbox is in use.
  std::shared_ptr<void> begin_use();
  bool in_use() const { return uses_ > 0 || attended_ > 0; }

  // Gives it a running handle, or takes that away. Execs that still run when it is taken have ended, for `why`.
  Result<void> take_handle(std::unique_ptr<Sandbox> handle);
  std::unique_ptr<Sandbox> give_handle(const std::string& why);
  bool has_handle() const;

  // A program that waits in it: an interpreter for its script, or one for which nothing but its user is known.
  struct Waiting {
    std::string language;  // empty: it takes any command
    std::string exec_id;
    Attachment streams;
    std::string script;  // where an interpreter will look for its script
  };
  void keep_waiting(Waiting waiting);
  // It, where the order is for what it waits for; one that is not taken by the first order is dismissed.
  std::optional<Waiting> take_waiting(const ExecOrder& order, const Environment& secrets);
  bool has_waiting() const;
  // Something has changed that it has looked at already, and the next one is to see: an interpreter at its start, and
  // any program when it was made.
  enum class What { Interpreter, Anything };
  void give_up_waiting(What what);
  // True once: nothing was run in it before.
  bool is_first_use() { return fresh_.exchange(false); }

  // What a program that waits is given.
  struct Lot {
    ExecSpec spec;
    std::string script;
    std::optional<std::string> input;
    EventDraft start;  // goes on record with the exec
  };
  // Gives it that, then puts the exec on record: it begins meanwhile.
  Result<std::shared_ptr<LiveExec>> start_waiting(LiveExec::Parts parts, Waiting waiting, Lot lot);
  Result<std::shared_ptr<LiveExec>> start_exec(LiveExec::Parts parts, ExecSpec spec, std::optional<std::string> input);
  // Code in a context, which is on record: no program of its own.
  std::shared_ptr<LiveCode> start_code(LiveExec::Parts parts, std::shared_ptr<CodeControl> control);
  // The same for a sandbox that an earlier server made, with the execs of it that process 1 knows.
  Result<void> adopt(std::unique_ptr<Sandbox> handle, std::vector<LiveExec::Parts> execs);
  void forget_exec(const std::string& exec);
  std::shared_ptr<LiveExec> find_exec(const std::string& exec) const;
  size_t running_execs() const;
  void signal_all(int number);

  Result<NetworkSockets> open_network();
  Result<std::unique_ptr<View>> open_view(const std::string& user);
  // See Sandbox::dial and ask_ports; what they wait for is awaited by the caller.
  Result<UniqueFd> dial(uint16_t port, Loopback loopback);
  Result<UniqueFd> ask_ports();
  // These are done by the hand, and need no lock of the handle's.
  Result<void> freeze();
  Result<void> thaw();
  Result<void> update_limits(const Limits& limits);
  Result<Stats> stats();

  Result<void> signal_exec(const std::string& exec, int number, SignalReach reach) override;
  Result<void> resize_exec(const std::string& exec, WindowSize size) override;
  Result<void> kill_exec(const std::string& exec) override;
  Result<void> close_exec_input(const std::string& exec) override;
  void let_exec_go(const std::string& exec) override;

  void on_ready(int which) override;
  void on_time() override {}

 private:
  class HandleLock;
  Result<Sandbox*> handle(const HandleLock& lock);
  Result<void> adopt_exec(LiveExec::Parts parts);
  void take_events();
  void take_event(const Event& event);
  void dismiss(const Waiting& waiting, const HandleLock& lock);
  Result<void> put_on_record(const ExecRecord& exec, const EventDraft& start);
  static Result<void> hand_over(Sandbox& sandbox, Waiting& waiting, const Lot& lot);
  void join(const std::shared_ptr<LiveExec>& exec, const std::string& id, bool attended);
  void part(const std::string& id, bool attended);

  const ExecTools& tools_;
  const std::string id_;
  const std::string project_;
  const std::shared_ptr<LogBudget> logs_;
  OnGone on_gone_;

  mutable std::mutex handle_mutex_;
  std::unique_ptr<Sandbox> handle_;
  uint64_t token_ = 0;
  std::optional<SandboxEnded> gone_;  // told of, but not yet passed on
  std::atomic<bool> missed_ = false;  // the pump came while somebody held the handle

  mutable std::mutex mutex_;  // of all below
  SandboxInfo info_;
  std::map<std::string, std::shared_ptr<LiveExec>> execs_;  // running, or ended with orphans that hold their pipes

  std::optional<Waiting> waiting_;

  std::atomic<bool> fresh_ = true;
  std::atomic<int64_t> last_used_ms_;
  std::atomic<int> uses_ = 0;
  std::atomic<int> attended_ = 0;  // running execs that are not detached
};

}  // namespace cove::engine
