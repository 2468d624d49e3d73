#include "runtime/native/native_runtime.h"

#include "runtime/native/native_sandbox.h"
#include "runtime/native/walls.h"

namespace cove::native {
namespace {

// The walls are made by this very process.
class NativeRuntime : public Runtime {
 public:
  NativeRuntime(Places places, IdRanges ranges) : walls_(std::move(places), ranges) {}

  Capabilities capabilities() const override { return walls_.capabilities(); }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    return COVE_TRY(sandbox_of(COVE_TRY(walls_.raise(spec))));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<NativeSandbox> sandbox = COVE_TRY(sandbox_of(COVE_TRY(walls_.adopt(spec))));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<void> remove_files(const SandboxSpec& spec) override { return walls_.remove_files(spec.id); }
  Result<void> sweep(const std::vector<std::string>& known) override { return walls_.sweep(known); }

 private:
  static Result<std::unique_ptr<NativeSandbox>> sandbox_of(Raised raised) {
    return NativeSandbox::create(
        {std::move(raised.spec), std::move(raised.holding), std::move(raised.hand), std::move(raised.control)});
  }

  Walls walls_;
};

}  // namespace

Result<std::unique_ptr<Runtime>> make_native_runtime(Places places, IdRanges ranges) {
  return std::make_unique<NativeRuntime>(std::move(places), ranges);
}

}  // namespace cove::native
