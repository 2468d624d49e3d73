#include "runtime/runtime_set.h"

#include <algorithm>

#include "base/text.h"
#include "model/runtime_kind.h"

namespace cove {

void RuntimeSet::add(const std::vector<std::string>& names, std::unique_ptr<Runtime> runtime) {
  for (const std::string& name : names) by_name_[name] = runtime.get();
  runtimes_.push_back(std::move(runtime));
}

Result<Runtime*> RuntimeSet::of(const std::string& name) const {
  auto found = by_name_.find(name.empty() ? kNativeRuntime : name);
  if (found != by_name_.end()) return found->second;
  return fail(Error(Code::Unavailable, concat("this server has no runtime '", name, "'"))
                  .hint("`cove doctor` lists the runtimes and what each requires"));
}

Capabilities RuntimeSet::capabilities_of(const std::string& name) const {
  Result<Runtime*> runtime = of(name);
  return runtime ? (*runtime)->capabilities_of(name) : Capabilities{.name = name};
}

Result<std::unique_ptr<Sandbox>> RuntimeSet::create(const SandboxSpec& spec) {
  return COVE_TRY(of(spec.runtime))->create(spec);
}

Result<std::unique_ptr<Sandbox>> RuntimeSet::adopt(const SandboxSpec& spec) {
  return COVE_TRY(of(spec.runtime))->adopt(spec);
}

Result<std::unique_ptr<HostProcess>> RuntimeSet::record_base(const Workspace& workspace) {
  return runtimes_.front()->record_base(workspace);
}

Result<void> RuntimeSet::pin_workspace(Workspace& workspace) { return runtimes_.front()->pin_workspace(workspace); }

Result<ImageConfig> RuntimeSet::image(const std::string& runtime, const std::string& name) {
  return COVE_TRY(of(runtime))->image(runtime, name);
}

Result<RuntimeFact> RuntimeSet::examine(const std::string& runtime) { return COVE_TRY(of(runtime))->examine(runtime); }

Result<UniqueFd> RuntimeSet::start_gateway() { return runtimes_.front()->start_gateway(); }

Result<void> RuntimeSet::remove_files(const SandboxSpec& spec) {
  return COVE_TRY(of(spec.runtime))->remove_files(spec);
}

Result<void> RuntimeSet::sweep(const std::vector<std::string>& known) {
  Result<void> all;
  for (const auto& runtime : runtimes_)
    if (Result<void> swept = runtime->sweep(known); !swept) all = swept;
  return all;
}

bool RuntimeSet::lost() const {
  return std::ranges::any_of(runtimes_, [](const auto& runtime) { return runtime->lost(); });
}

}  // namespace cove
