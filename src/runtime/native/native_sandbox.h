#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/native/enforcement.h"
#include "runtime/native/sandbox_resources.h"
#include "runtime/runtime.h"

namespace cove::native {

// A sandbox of the native runtime, seen from outside: the channel to its process 1, and its resources.
class NativeSandbox : public Sandbox {
 public:
  struct Parts {
    SandboxSpec spec;
    Holding holding;
    std::unique_ptr<SandboxResources> resources;
    UniqueFd control;
  };
  static Result<std::unique_ptr<NativeSandbox>> create(Parts parts);
  ~NativeSandbox() override;

  const EnforcedLimits& enforced() const override { return parts_.holding.limits; }
  const std::vector<std::string>& warnings() const override { return parts_.holding.warnings; }
  Result<void> ready() override { return parts_.resources->ready(); }
  Result<Attachment> exec(const ExecSpec& spec) override;
  Result<Attachment> attach(const std::string& exec_id) override;
  Result<void> close_input(const std::string& exec_id) override;
  Result<void> give_script(const std::string& exec_id, std::string_view text) override;
  Result<void> give_command(const ExecSpec& spec) override;
  void forget(const std::string& exec_id) override;
  std::vector<std::string> adopted_execs() const override { return adopted_; }
  Result<void> signal(const std::string& exec_id, int number, SignalReach reach) override;
  Result<void> resize(const std::string& exec_id, WindowSize size) override;
  Result<void> kill(const std::string& exec_id) override;
  Result<void> pause() override { return parts_.resources->freeze(); }
  Result<void> resume() override { return parts_.resources->thaw(); }
  Result<void> update_limits(const Limits& limits) override;
  Result<Stats> stats() override;
  Result<std::unique_ptr<View>> open_view(const std::string& user) override;
  Result<NetworkSockets> open_network() override;
  Result<UniqueFd> dial(uint16_t port, Loopback loopback) override;
  Result<UniqueFd> ask_ports() override;
  int events_fd() const override { return poll_.get(); }
  Result<std::optional<Event>> next_event() override;
  bool quiet() const override { return execs_.empty() && !left_behind_ && parts_.spec.lifetime == Lifetime::Long; }
  Result<void> destroy(Files files) override;

  // Gets the list of execs from process 1; part of adoption.
  Result<void> take_over();

 private:
  struct RunningExec {
    ExecSpec spec;
    std::string group_name;
    std::unique_ptr<sys::Cgroup> group;  // null where there are none
    bool killed = false;                 // its end was requested
    // The program's ends of its output, for an exec that waited for its command: kept open so that readers are not
    // woken between the program's end and the message of process 1.
    std::array<UniqueFd, 2> ends = {};
  };
  struct Reply {
    wire::Type type{};
    std::string body;
    std::vector<UniqueFd> fds;
  };

  explicit NativeSandbox(Parts parts) : parts_(std::move(parts)) {}
  Result<void> watch_channel();
  Result<void> send(const wire::Writer& message, const std::vector<int>& fds = {});
  Result<void> send_exec(const RunningExec& exec, std::vector<int> fds, uint64_t flags);
  wire::ExecRequest request_of(const ExecSpec& spec) const;
  Result<std::vector<UniqueFd>> join_fds(RunningExec& exec);
  Result<Reply> wait_for_reply(wire::Type type, const std::string& key,
                               std::chrono::milliseconds patience = std::chrono::milliseconds(-1));
  Result<std::optional<Reply>> read_reply();
  Result<std::optional<Event>> event_of(Reply reply);
  Result<std::optional<Event>> exec_ended(wire::Reader& in, const std::vector<UniqueFd>& figures);
  Result<std::optional<Event>> exec_failed(wire::Reader& in);
  uint64_t full_disk() const;
  Result<std::optional<Event>> sandbox_ended();
  void take_over_exec(wire::Reader& in);
  uint64_t layer_usage(uint64_t measured_inside) const;

  Parts parts_;
  UniqueFd poll_;
  std::map<std::string, RunningExec> execs_;
  // By exec, of those that were not forgotten yet: closing a group's many files would delay the caller that waits for
  // the end.
  struct EndedGroup {
    std::string name;
    std::unique_ptr<sys::Cgroup> group;
  };
  std::map<std::string, EndedGroup> ended_groups_;
  std::vector<std::string> adopted_;
  std::deque<Event> pending_;
  uint64_t next_token_ = 1;
  bool used_ = false;           // an exec was started
  bool left_behind_ = false;    // an exec left processes behind when it ended
  uint64_t layer_bytes_ = 0;    // when the last exec ended
  uint64_t io_read_bytes_ = 0;  // of all execs that have ended
  uint64_t io_write_bytes_ = 0;
  bool ended_ = false;
};

// Converts what a control group counted to the usage in a result.
Usage usage_of(const sys::CgroupUsage& counted);

}  // namespace cove::native
