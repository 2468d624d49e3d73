#include "runtime/native/native_runtime.h"

#include "runtime/native/native_sandbox.h"
#include "runtime/native/sandbox_factory.h"
#include "runtime/oci/programs.h"

namespace cove::native {
namespace {

// Builds sandboxes in this process.
class NativeRuntime : public Runtime {
 public:
  NativeRuntime(Places places, IdRanges ranges, std::string name)
      : factory_(std::move(places), ranges), name_(std::move(name)) {}

  Capabilities capabilities() const override { return factory_.capabilities(name_); }
  Capabilities capabilities_of(const std::string& runtime) const override { return factory_.capabilities(runtime); }

  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override {
    return COVE_TRY(sandbox_of(COVE_TRY(factory_.create(named(spec)))));
  }

  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override {
    std::unique_ptr<NativeSandbox> sandbox = COVE_TRY(sandbox_of(COVE_TRY(factory_.adopt(named(spec)))));
    COVE_TRY(sandbox->take_over());
    return sandbox;
  }

  Result<void> remove_files(const SandboxSpec& spec) override { return factory_.remove_files(spec.id); }
  Result<void> sweep(const std::vector<std::string>& known) override { return factory_.sweep(known); }

 private:
  SandboxSpec named(SandboxSpec spec) const {
    if (spec.runtime.empty()) spec.runtime = name_;
    return spec;
  }

  static Result<std::unique_ptr<NativeSandbox>> sandbox_of(CreatedSandbox created) {
    return NativeSandbox::create({std::move(created.spec), std::move(created.holding), std::move(created.resources),
                                  std::move(created.control)});
  }

  SandboxFactory factory_;
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
