#pragma once

#include <string>

#include "runtime/native/spawn_plan.h"

namespace cove::oci {

// The number of the descriptor that is cove-init itself; those of protocol.h come before it.
inline constexpr int kProgramFd = 7;

// The text of the bundle's config.json: process 1 is cove-init, in namespaces of its own, with the root file system
// that lies at native::kStagedRoot. `user_namespace` is the path of one to be used; empty: the runtime makes it.
std::string bundle_config(const native::SpawnPlan& plan, const std::string& user_namespace);

// The same for a runtime with a kernel of its own: process 1 there comes from kInitSource, shown at kInitFolder, and
// /tmp from kTmpSource.
inline constexpr const char* kTmpSource = "/tmp/bundle/tmp";
inline constexpr const char* kInitSource = "/tmp/bundle/init";
inline constexpr const char* kInitFolder = "/dev/cove";
std::string kernel_config(const native::SpawnPlan& plan);

}  // namespace cove::oci
