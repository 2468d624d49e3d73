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

// Whose child process 1 is: the builder's, or, where that one outlives its work, that of the builder's own parent.
enum class Parentage { OfBuilder, OfParent };

struct Channels {
  int control;
  int inner;  // to process 1 of another kernel; -1: there is none
};
struct Birth {
  Channels channels;
  int status;
  cpu_set_t cpus;  // those that it may use, whatever this process may by now
  Parentage parentage;
};
// Whether process 1 needs no program of its own.
bool may_go_on_as_init(const SpawnPlan& plan);
// Starts cove-init in new user, pid, network, ipc, uts and cgroup namespaces and in the caller's mount namespace.
// What fails in the child after this returns is reported to `status`.
Result<ProcessOne> start_process_one(const SpawnPlan& plan, const Birth& birth);

// How process 1 is to be: the letters of protocol.h.
std::string init_mode(const SpawnPlan& plan);
// cove-init on a mount that cannot be written to: nothing inside can reach the file itself. It is put over the file, in
// this mount namespace only, and goes with the old root: a mount that is let go by itself costs an RCU period.
Result<UniqueFd> open_init(const std::string& path);

}  // namespace cove::native
