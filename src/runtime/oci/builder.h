#pragma once

#include "base/result.h"
#include "runtime/native/spawn_plan.h"
#include "sys/process.h"

namespace cove::oci {

// Builds a sandbox with an OCI runtime: stages the root file system in this process's own mount namespace, writes a
// bundle beside it, lets the runtime start cove-init in it, and returns that process 1. `control` becomes its channel;
// the sandbox's control groups arrive over `status`. The bundle and the runtime's state exist only in this mount
// namespace.
//
// Called by a builder (native/builder.h), which is in its own mount namespace.
Result<sys::Child> build(const native::SpawnPlan& plan, int control, int status);

// Opens Cove's files for a runtime with its own kernel, on read-only mounts; `init` is the path of cove-init, which is
// in the same folder. Must be called before anything is staged, because that may cover them.
Result<std::vector<UniqueFd>> open_programs(const std::string& init);
// Starts a runtime with its own kernel (gVisor) on the staged root file system, with an inner process 1 whose end of
// the channel between the two is `channel`. It ends when the other end is closed. With a network, it is linked to the
// network namespace `network`.
Result<void> start_kernel(const native::SpawnPlan& plan, const std::vector<UniqueFd>& programs, int channel,
                          int network);

}  // namespace cove::oci
