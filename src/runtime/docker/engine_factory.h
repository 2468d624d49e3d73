#pragma once

#include <string>
#include <vector>

#include "image/manifest.h"
#include "runtime/docker/engine.h"
#include "runtime/native/sandbox_factory.h"
#include "sys/socket.h"

namespace cove::docker {

// What the creator of a sandbox holds while its container is being created.
struct PendingContainer {
  SandboxSpec spec;
  sys::SocketPair control;
  UniqueFd listener;        // Lifetime::Long: where later servers connect
  std::string socket_path;  // path of the listener
  UniqueFd handoff;         // where process 1 connects for its descriptors
  std::string handoff_path;
};

// What is known once the container is running.
struct BuiltContainer {
  native::Holding holding;
  bool own_group = false;  // Cove can create control groups in the container's
  bool sized = false;      // the engine enforces its disk limit
  EngineFacts engine;
};
void encode(wire::Writer& out, const BuiltContainer& built);
BuiltContainer decode_built_container(wire::Reader& in);

// Creates sandboxes in containers of a Docker or Podman engine, and finds those that earlier processes created: the
// part of this runtime that needs access to the engine. Process 1 is cove-init, which is mounted into the container
// together with the socket through which it receives its descriptors, so that everything else works as in a native
// sandbox.
//
// Creating one takes three steps. The first and the last are quick and are done by the holder of the sandbox; the
// second waits for the engine and may be done by a child. All other calls wait for the engine, too.
class EngineFactory {
 public:
  // `state`: the state folder, by which this Cove recognizes its own containers.
  EngineFactory(native::Places places, std::string state) : places_(std::move(places)), state_(std::move(state)) {}

  Result<PendingContainer> prepare(const SandboxSpec& spec) const;
  Result<BuiltContainer> build(const PendingContainer& pending) const;
  Result<native::CreatedSandbox> finish(PendingContainer pending, BuiltContainer built);
  // All three steps.
  Result<native::CreatedSandbox> create(const SandboxSpec& spec);

  // Talks only to process 1.
  Result<native::CreatedSandbox> adopt(const SandboxSpec& spec) const;
  Result<void> remove_files(const std::string& id) const;
  Result<void> sweep(const std::vector<std::string>& known) const;
  // Whether there may be something to sweep: this state has had containers. Does not call the engine.
  bool used() const;

  // The configuration of an image of the engine.
  Result<ImageConfig> image(const std::string& runtime, const std::string& name) const;

 private:
  struct Construction;
  Result<void> check_own_folders(const Workspace& workspace) const;
  Result<BuiltContainer> build_in_engine(const PendingContainer& pending) const;
  Result<EngineFacts> facts_of(const Engine& engine) const;
  Result<std::unique_ptr<native::LocalResources>> resources_of(const SandboxSpec& spec, UniqueFd process_1,
                                                               std::unique_ptr<sys::Cgroup> group) const;

  native::Places places_;
  std::string state_;
  bool sizes_ = true;  // as far as is known, the engine can enforce a disk limit
  EngineFacts known_;  // of the engine that created the last container
};

}  // namespace cove::docker
