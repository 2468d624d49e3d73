#pragma once

#include <string>

#include "runtime/native/spawn_plan.h"

namespace cove::oci {

// The descriptor of cove-init itself; those of protocol.h have lower numbers.
inline constexpr int kProgramFd = 7;

// The bundle's config.json: process 1 is cove-init, in its own namespaces, with the root file system at
// native::kStagedRoot. `user_namespace` is the path of an existing one; empty: the runtime creates it.
std::string bundle_config(const native::SpawnPlan& plan, const std::string& user_namespace);

// The same for a runtime with its own kernel: its process 1 comes from kInitSource, mounted at kInitFolder, and /tmp
// from kTmpSource.
inline constexpr const char* kTmpSource = "/tmp/bundle/tmp";
inline constexpr const char* kInitSource = "/tmp/bundle/init";
inline constexpr const char* kInitFolder = "/dev/cove";
std::string kernel_config(const native::SpawnPlan& plan);

}  // namespace cove::oci
