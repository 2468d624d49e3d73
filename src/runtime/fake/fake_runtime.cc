#include "runtime/fake/fake_runtime.h"

#include "runtime/fake/fake_sandbox.h"

namespace cove::fake {

Capabilities FakeRuntime::capabilities() const {
  std::lock_guard lock(machine_.world_.mutex);
  return machine_.capabilities_;
}

Result<void> FakeRuntime::check_connection() const {
  std::lock_guard lock(machine_.world_.mutex);
  if (server_->cut) return fail(Code::Unavailable, "the server was killed");
  return {};
}

Result<std::unique_ptr<Sandbox>> FakeRuntime::create(const SandboxSpec& spec) {
  COVE_TRY(check_connection());
  return std::make_unique<FakeSandbox>(machine_, spec, COVE_TRY(machine_.create(spec, server_)), Adopted::No);
}

Result<std::unique_ptr<Sandbox>> FakeRuntime::adopt(const SandboxSpec& spec) {
  COVE_TRY(check_connection());
  return std::make_unique<FakeSandbox>(machine_, spec, COVE_TRY(machine_.adopt(spec.id, server_)), Adopted::Yes);
}

Result<void> FakeRuntime::remove_files(const SandboxSpec& spec) {
  COVE_TRY(check_connection());
  return machine_.destroy(spec.id, Files::Remove);
}

Result<void> FakeRuntime::sweep(const std::vector<std::string>& known) {
  COVE_TRY(check_connection());
  return machine_.sweep(known);
}

bool FakeRuntime::lost() const {
  std::lock_guard lock(machine_.world_.mutex);
  return machine_.lost_;
}

}  // namespace cove::fake
