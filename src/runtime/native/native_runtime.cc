#include "runtime/native/native_runtime.h"

#include "runtime/native/native_sandbox.h"
#include "runtime/native/walls.h"
#include "runtime/oci/programs.h"

namespace cove::native {
namespace {

// The walls are made by this very process.
class NativeRuntime : public Runtime {
 public:
  NativeRuntime(Places places, IdRanges ranges, std::string name)
      : walls_(std::move(places), ranges), name_(std::move(name)) {}

  Capabilities capabilities() const override { return walls_.capabilities(name_); }
  Capabilities capabilities_of(const std::string& runtime) const override { return walls_.capabilities(runtime); }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    return COVE_TRY(sandbox_of(COVE_TRY(walls_.raise(named(spec)))));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<NativeSandbox> sandbox = COVE_TRY(sandbox_of(COVE_TRY(walls_.adopt(named(spec)))));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<void> remove_files(const SandboxSpec& spec) override { return walls_.remove_files(spec.id); }
  Result<void> sweep(const std::vector<std::string>& known) override { return walls_.sweep(known); }

 private:
  SandboxSpec named(SandboxSpec spec) const {
    if (spec.runtime.empty()) spec.runtime = name_;
    return spec;
  }

  static Result<std::unique_ptr<NativeSandbox>> sandbox_of(Raised raised) {
    return NativeSandbox::create(
        {std::move(raised.spec), std::move(raised.holding), std::move(raised.hand), std::move(raised.control)});
  }

  Walls walls_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Runtime>> make_native_runtime(Places places, IdRanges ranges) {
  return std::make_unique<NativeRuntime>(std::move(places), ranges, kNativeRuntime);
}

Result<std::unique_ptr<Runtime>> make_oci_runtime(Places places, const std::string& name) {
  std::string settled = COVE_TRY(oci::settle_runtime(name));
  return std::make_unique<NativeRuntime>(std::move(places), IdRanges::AsTheKernelCan, settled);
}

}  // namespace cove::native
