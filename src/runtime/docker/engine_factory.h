#pragma once

#include <string>
#include <vector>

#include "image/manifest.h"
#include "runtime/docker/engine.h"
#include "runtime/native/sandbox_factory.h"
#include "sys/socket.h"

namespace cove::docker {

// What whoever makes a sandbox holds while its container is being made.
struct PendingContainer {
  SandboxSpec spec;
  sys::SocketPair control;
  UniqueFd listener;        // Lifetime::Long: where later servers come
  std::string socket_path;  // its name
  UniqueFd door;            // where process 1 comes for its descriptors
  std::string door_path;
};

// What is known when it stands.
struct BuiltContainer {
  native::Holding holding;
  bool own_group = false;  // Cove can make groups in the container's
  bool sized = false;      // the engine holds its disk limit
  EngineFacts engine;
};
void encode(wire::Writer& out, const BuiltContainer& built);
BuiltContainer decode_standing(wire::Reader& in);

// Makes sandboxes in containers of a Docker or Podman engine, and finds those that earlier processes made: all of this
// runtime that needs the right to talk to the engine. Process 1 is cove-init, which is mounted into the container with
// the socket at which it comes for its descriptors, so that all the rest is as in a native sandbox.
//
// Making one has three steps. The first and the last are quick and are done by whoever holds the sandbox; the one
// between waits for the engine, and may be done by a child. All else waits for the engine, too.
class EngineFactory {
 public:
  // `state`: the state folder, by which this Cove knows its own containers.
  EngineFactory(native::Places places, std::string state) : places_(std::move(places)), state_(std::move(state)) {}

  Result<PendingContainer> prepare(const SandboxSpec& spec) const;
  Result<BuiltContainer> build(const PendingContainer& pending) const;
  Result<native::CreatedSandbox> finish(PendingContainer pending, BuiltContainer built);
  // The three in one.
  Result<native::CreatedSandbox> raise(const SandboxSpec& spec);

  // Asks nobody but process 1.
  Result<native::CreatedSandbox> adopt(const SandboxSpec& spec) const;
  Result<void> remove_files(const std::string& id) const;
  Result<void> sweep(const std::vector<std::string>& known) const;
  // Whether there can be anything to sweep: this state has had containers. Asks nobody.
  bool used() const;

  // What an image of the engine's says about how its programs are run.
  Result<ImageConfig> image(const std::string& runtime, const std::string& name) const;

 private:
  struct Raising;
  Result<void> check_own_folders(const Workspace& workspace) const;
  Result<BuiltContainer> build_in_engine(const PendingContainer& pending) const;
  Result<EngineFacts> facts_of(const Engine& engine) const;
  Result<std::unique_ptr<native::LocalResources>> resources_of(const SandboxSpec& spec, UniqueFd process_1,
                                                               std::unique_ptr<sys::Cgroup> group) const;

  native::Places places_;
  std::string state_;
  bool sizes_ = true;  // as far as is known, the engine can hold a disk limit
  EngineFacts known_;  // of the engine that made the last one
};

}  // namespace cove::docker
