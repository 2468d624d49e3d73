#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace cove {

// All runtimes of a server behind one interface: the runtime in a sandbox's spec creates, adopts and removes it. As
// thread-safe as these runtimes.
class RuntimeSet : public Runtime {
 public:
  // The first one also handles calls that concern no particular sandbox, such as recording a workspace.
  void add(const std::vector<std::string>& names, std::unique_ptr<Runtime> runtime);

  Capabilities capabilities() const override { return runtimes_.front()->capabilities(); }
  Capabilities capabilities_of(const std::string& name) const override;
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec& spec) override;
  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec& spec) override;
  Result<std::unique_ptr<HostProcess>> record_base(const Workspace& workspace) override;
  Result<void> pin_workspace(Workspace& workspace) override;
  Result<ImageConfig> image(const std::string& runtime, const std::string& name) override;
  Result<RuntimeFact> examine(const std::string& runtime) override;
  Result<UniqueFd> start_gateway() override;
  Result<void> remove_files(const SandboxSpec& spec) override;
  Result<void> sweep(const std::vector<std::string>& known) override;
  bool lost() const override;

 private:
  Result<Runtime*> of(const std::string& name) const;

  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::map<std::string, Runtime*> by_name_;
};

}  // namespace cove
