#pragma once

#include "runtime/fake/fake_machine.h"

namespace cove::fake {

enum class Adopted { No, Yes };

// A server's handle on one sandbox of the machine.
class FakeSandbox : public Sandbox {
 public:
  FakeSandbox(FakeMachine& machine, const SandboxSpec& spec, std::shared_ptr<FakeChannel> channel, Adopted adopted);
  ~FakeSandbox() override;

  const EnforcedLimits& enforced() const override { return enforced_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  Result<void> ready() override { return {}; }
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
  Result<void> pause() override;
  Result<void> resume() override;
  Result<void> update_limits(const Limits& limits) override;
  Result<Stats> stats() override;
  Result<NetworkSockets> open_network() override;
  Result<std::unique_ptr<View>> open_view(const std::string& user) override;
  Result<UniqueFd> dial(uint16_t port, Loopback loopback) override;
  int events_fd() const override { return channel_->fd(); }
  Result<std::optional<Event>> next_event() override;
  bool quiet() const override;
  Result<void> destroy(Files files) override;

 private:
  // These with the world's lock held.
  Result<FakeBox*> box() const;
  Result<FakeProgram*> program(const std::string& exec_id) const;
  Result<void> freeze(bool frozen);

  FakeMachine& machine_;
  const std::string id_;
  const Lifetime lifetime_;
  const std::shared_ptr<FakeChannel> channel_;
  EnforcedLimits enforced_;
  std::vector<std::string> warnings_;
  std::vector<std::string> adopted_;
};

}  // namespace cove::fake
