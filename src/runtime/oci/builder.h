#pragma once

#include "base/result.h"
#include "runtime/native/spawn_plan.h"
#include "sys/process.h"

namespace cove::oci {

// Builds a sandbox's walls with an OCI runtime: stages the root file system in this process's own mount namespace,
// writes a bundle beside it, has the runtime start cove-init in it, and returns that process 1. `control` becomes its
// channel; the sandbox's control groups come over `status`. The bundle and the runtime's own records are seen in this
// mount namespace only, and go with it.
//
// Called by a builder (native/builder.h), which is in a mount namespace of its own.
Result<sys::Child> build(const native::SpawnPlan& plan, int control, int status);

// Cove's own files that go into a runtime with a kernel of its own, on mounts that cannot be written to; `init` is the
// path of cove-init, beside which they lie. Before anything is staged: it may cover them.
Result<std::vector<UniqueFd>> open_programs(const std::string& init);
// Starts a runtime that brings a kernel of its own (gVisor), with the staged root file system, and in it another
// process 1, whose end of the channel between the two is `channel`. It ends when the other end is closed.
Result<void> start_kernel(const native::SpawnPlan& plan, const std::vector<UniqueFd>& programs, int channel);

}  // namespace cove::oci
