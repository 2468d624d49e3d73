#pragma once

#include "runtime/fake/fake_machine.h"

namespace cove::fake {

// What one server has of the machine.
class FakeRuntime : public Runtime {
 public:
  FakeRuntime(FakeMachine& machine, std::shared_ptr<FakeServer> server)
      : machine_(machine), server_(std::move(server)) {}
  Capabilities capabilities() const override;
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override;
  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override;
  Result<void> remove_files(const SandboxSpec& spec) override;
  Result<void> sweep(const std::vector<std::string>& known) override;
  bool lost() const override;

 private:
  Result<void> check_connection() const;

  FakeMachine& machine_;
  const std::shared_ptr<FakeServer> server_;
};

}  // namespace cove::fake
