#pragma once

#include <string>
#include <vector>

#include "client/json.h"
#include "model/sandbox.h"
#include "runtime/docker/engine_facts.h"
#include "runtime/native/enforcement.h"

// What is asked of an engine, as values.
namespace cove::docker {

// The labels of what is ours. Nothing without both is ever changed or removed.
inline constexpr const char* kSandboxLabel = "cove.sandbox";  // the sandbox's id
inline constexpr const char* kStateLabel = "cove.state";      // the state folder of the Cove that made it
// For later starts: the bytes that the engine holds its disk to.
inline constexpr const char* kDiskLabel = "cove.disk";

// Where things of Cove's are in a container.
inline constexpr const char* kInitInside = "/.cove/init";
inline constexpr const char* kDoorInside = "/.cove/door";
inline constexpr const char* kSudoInside = "/usr/bin/sudo";

// Who holds the limits: a group of Cove's own in the container's, in which the sandbox's programs are and process 1 is
// not; or, where Cove may make none, the engine.
enum class Holder { OwnGroup, Engine };

struct ContainerPlan {
  SandboxSpec spec;
  std::string state;     // the folder
  std::string programs;  // the folder of cove-init and cove-sudo
  std::string door;      // the socket at which process 1 asks for its descriptors
  EngineFacts engine;
  Holder holder = Holder::OwnGroup;
  uint64_t disk = 0;        // bytes that the engine is to hold the writable layer to; 0: it cannot
  bool maps_users = false;  // Podman takes a range of ids that it has, for this container alone
};

std::string container_name(const std::string& sandbox_id);
// The body of POST /containers/create.
Json container_order(const ContainerPlan& plan);
// The body of POST /containers/ID/update, where the engine holds the limits: only what is named.
Json limits_order(const Limits& limits);

// What an engine can hold limits with. Disk is not among it: see hold_disk.
native::Means means_of(const EngineFacts& facts);
// How the disk limit is held: by the engine, or not at all. Unsupported where it was named, or strictness asks for it.
Result<void> hold_disk(native::Holding& holding, const SandboxSpec& spec, bool by_engine);
// What people should know of the engine's walls; Unsupported where strictness forbids it.
Result<std::vector<std::string>> engine_warnings(const EngineFacts& facts, bool maps_users, Strictness strictness);

// What this runtime does not do, by spec; Unsupported with what to do.
Result<void> check_spec(const SandboxSpec& spec);

}  // namespace cove::docker
