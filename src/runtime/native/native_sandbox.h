#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layer/layer.h"
#include "runtime/native/builder.h"
#include "runtime/native/enforcement.h"
#include "runtime/runtime.h"
#include "sys/cgroup.h"

namespace cove::native {

// A sandbox of the native runtime, seen from outside: the channel to its process 1, its builder, its control group.
class NativeSandbox : public Sandbox {
 public:
  struct Parts {
    SandboxSpec spec;
    Holding holding;
    std::unique_ptr<Layer> layer;
    std::unique_ptr<sys::Cgroup> group;  // null where the machine has none for us
    UniqueFd control;
    std::optional<Builder> builder;  // none after adoption, or once a long-lived sandbox stands
    std::string socket_path;         // Lifetime::Long: where process 1 takes servers
    UniqueFd id_lock;
    std::function<void()> idle_work;  // done while the sandbox comes down
  };
  static Result<std::unique_ptr<NativeSandbox>> create(Parts parts);
  ~NativeSandbox() override;

  const EnforcedLimits& enforced() const override { return parts_.holding.limits; }
  const std::vector<std::string>& warnings() const override { return parts_.holding.warnings; }
  Result<void> ready() override;
  Result<Attachment> exec(const ExecSpec& spec) override;
  Result<Attachment> attach(const std::string& exec_id) override;
  Result<void> signal(const std::string& exec_id, int number, SignalReach reach) override;
  Result<void> resize(const std::string& exec_id, WindowSize size) override;
  Result<void> kill(const std::string& exec_id) override;
  Result<void> pause() override;
  Result<void> resume() override;
  Result<void> update_limits(const Limits& limits) override;
  Result<Usage> stats() override;
  Result<std::unique_ptr<View>> open_view(const std::string& user) override;
  Result<UniqueFd> dial(uint16_t port) override;
  int events_fd() const override { return poll_.get(); }
  Result<std::optional<Event>> next_event() override;
  Result<void> destroy() override;

  // Asks process 1 which execs there are; part of adoption.
  Result<void> take_over();

 private:
  struct RunningExec {
    ExecSpec spec;
    std::string group_name;
    std::unique_ptr<sys::Cgroup> group;  // null: the sandbox's, or unknown after adoption
    bool adopted = false;
  };
  struct Reply {
    wire::Type type;
    std::string body;
    std::vector<UniqueFd> fds;
  };

  explicit NativeSandbox(Parts parts) : parts_(std::move(parts)) {}
  Result<void> watch_channel();
  Result<void> send(const wire::Writer& message, const std::vector<int>& fds = {});
  Result<void> send_exec(const RunningExec& exec, std::vector<int> fds, uint64_t flags);
  wire::ExecRequest request_of(const ExecSpec& spec) const;
  Result<std::vector<UniqueFd>> join_fds(RunningExec& exec);
  Result<Reply> wait_for_reply(wire::Type type, const std::string& key);
  Result<std::optional<Reply>> read_reply();
  Result<std::optional<Event>> event_of(Reply reply);
  Result<std::optional<Event>> exec_ended(wire::Reader& in);
  Result<std::optional<Event>> exec_failed(wire::Reader& in);
  Result<std::optional<Event>> sandbox_ended();
  Result<void> remove_group();
  void retire(RunningExec& exec);
  void remove_retired();
  Result<void> make_spare();
  Result<void> remove_layer();
  uint64_t layer_usage(uint64_t measured_inside) const;
  sys::Cgroup* group_of(const RunningExec& exec) const;

  Parts parts_;
  UniqueFd poll_;
  std::map<std::string, RunningExec> execs_;
  std::vector<std::unique_ptr<sys::Cgroup>> retired_;  // of execs that have ended
  struct Spare {
    std::string name;
    std::unique_ptr<sys::Cgroup> group;
    std::vector<UniqueFd> join_fds;
  } spare_;
  std::deque<Event> pending_;
  uint64_t next_token_ = 1;
  bool built_ = false;
  bool ended_ = false;
};

}  // namespace cove::native
