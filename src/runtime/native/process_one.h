#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/spawn_plan.h"
#include "sys/process.h"

namespace cove::native {

// Process 1 of a sandbox, alive in namespaces of its own and waiting for `go` (a byte; closing it ends process 1).
struct ProcessOne {
  sys::Child child;
  UniqueFd user_namespace;
  UniqueFd pid_namespace;
  UniqueFd go;
};

// Starts cove-init in new user, pid, network, ipc, uts and cgroup namespaces and in the caller's mount namespace.
// What fails in the child after this returns is reported to `status`.
Result<ProcessOne> start_process_one(const SpawnPlan& plan, int control, int status);

}  // namespace cove::native
