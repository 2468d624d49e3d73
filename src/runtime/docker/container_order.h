#pragma once

#include <string>
#include <vector>

#include "client/json.h"
#include "model/sandbox.h"
#include "runtime/docker/engine_facts.h"
#include "runtime/native/enforcement.h"

// Requests to an engine, as values.
namespace cove::docker {

// The labels of Cove's containers. A container without both is never changed or removed.
inline constexpr const char* kSandboxLabel = "cove.sandbox";  // the sandbox's id
inline constexpr const char* kStateLabel = "cove.state";      // the state folder of the Cove that made it
// For later starts: the disk limit in bytes that the engine enforces.
inline constexpr const char* kDiskLabel = "cove.disk";

// Paths of Cove's files in a container.
inline constexpr const char* kInitInside = "/.cove/init";
inline constexpr const char* kHandoffInside = "/.cove/door";
inline constexpr const char* kSudoInside = "/usr/bin/sudo";

// What enforces the limits: a control group of Cove in the container's, which contains the sandbox's programs but not
// process 1; or, if Cove cannot create one, the engine.
enum class Holder { OwnGroup, Engine };

struct ContainerPlan {
  SandboxSpec spec;
  std::string state;     // the folder
  std::string programs;  // the folder of cove-init and cove-sudo
  std::string handoff;   // the socket through which process 1 receives its descriptors
  EngineFacts engine;
  Holder holder = Holder::OwnGroup;
  uint64_t disk = 0;        // limit of the writable layer in bytes, enforced by the engine; 0: it cannot
  bool maps_users = false;  // Podman assigns a range of ids to this container alone
};

std::string container_name(const std::string& sandbox_id);
// The body of POST /containers/create.
Json container_order(const ContainerPlan& plan);
// The body of POST /containers/ID/update, if the engine enforces the limits: only the named ones.
Json limits_order(const Limits& limits);

// The limits that an engine can enforce. For the disk see hold_disk.
native::Means means_of(const EngineFacts& facts);
// Whether the engine enforces the disk limit. Unsupported if it cannot although the limit was named or strict is set.
Result<void> hold_disk(native::Holding& holding, const SandboxSpec& spec, bool by_engine);
// Warnings about the engine's isolation; Unsupported if strict forbids it.
Result<std::vector<std::string>> engine_warnings(const EngineFacts& facts, bool maps_users, Strictness strictness);

// Unsupported, with a hint, if the spec needs something this runtime does not have.
Result<void> check_spec(const SandboxSpec& spec);

}  // namespace cove::docker
