#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "init/protocol.h"
#include "layer/layer.h"
#include "model/limits.h"
#include "sys/cgroup.h"

namespace cove::native {

// The means of this machine to enforce limits.
struct Means {
  bool cpu = false;  // control groups
  bool memory = false;
  bool swap = false;  // the kernel counts it
  bool processes = false;
  bool io = false;
  bool nested_ids = false;  // rootless: RLIMIT_NPROC between two namespaces is exact
  bool nesting = false;     // the program may create namespaces and memory file systems that the watcher cannot see
  LayerKind layer = LayerKind::Memory;
  bool quota = false;   // the layer's folder has a quota
  std::string why_not;  // why control groups are not available
  std::string hint;
};

// How each limit will be enforced.
struct Holding {
  EnforcedLimits limits;              // for the result
  std::vector<std::string> warnings;  // defaults with a fallback
  std::vector<wire::Rlimit> rlimits;  // for every exec
  uint64_t process_rlimit = 0;        // RLIMIT_NPROC of the whole sandbox
  uint64_t watched_memory = 0;        // bytes at which the watcher kills the sandbox
  unsigned pinned_cpus = 0;           // the number of CPUs it is pinned to, instead of a quota
};

// Named limits are enforced by the kernel or refused; defaults fall back with a warning, unless strict.
Result<Holding> plan_enforcement(const Limits& limits, const Means& means, Strictness strictness);

// The swap that a group is given: none by default where the kernel does not count it.
uint64_t swap_for(const sys::Cgroup& group, const Limits& limits);

// The number of CPUs that the programs run on; 0: all. Only for a named limit: the default of one CPU's time may be
// used on any CPU, so that sandboxes do not wait for each other.
unsigned visible_cpus(const Limits& limits);

// The named limits that are enforced by rlimits: for every exec from now on.
void change_rlimits(Holding& holding, const Limits& limits);

}  // namespace cove::native
