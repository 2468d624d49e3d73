#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/spawn_plan.h"
#include "sys/process.h"

namespace cove::native {

// Process 1 of a sandbox, running in its own namespaces and waiting for `go` (a byte; closing it ends process 1).
struct ProcessOne {
  sys::Child child;
  UniqueFd user_namespace;
  UniqueFd pid_namespace;
  UniqueFd network;  // its network namespace, where another kernel is linked to it
  UniqueFd go;
};

// Whose child process 1 is: the builder's or, if the builder is reused, that of the builder's parent.
enum class Parentage { OfBuilder, OfParent };

struct Channels {
  int control;
  int inner;  // to process 1 of another kernel; -1: none
};
struct ProcessOneOptions {
  Channels channels;
  int status;
  cpu_set_t cpus;  // the CPUs it may use, independent of this process's affinity
  Parentage parentage;
};
// Whether process 1 can continue in the builder's program, without exec.
bool can_continue_as_init(const SpawnPlan& plan);
// Starts cove-init in new user, pid, network, ipc, uts and cgroup namespaces and in the caller's mount namespace.
// What fails in the child after this returns is reported to `status`.
Result<ProcessOne> start_process_one(const SpawnPlan& plan, const ProcessOneOptions& options);

// The mode of process 1, in the letters of protocol.h.
std::string init_mode(const SpawnPlan& plan);
// Opens cove-init on a read-only mount, so that nothing inside can write to the file. The mount covers the file in this
// mount namespace only and is removed with the old root: removing a single mount costs an RCU grace period.
Result<UniqueFd> open_init(const std::string& path);

}  // namespace cove::native
