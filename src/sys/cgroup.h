#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Control groups, v2 and v1 behind one interface.
namespace cove::sys {

enum class Controller { Cpu, Memory, Pids, Io, Freezer, Cpuset };

std::string controller_name(Controller controller);  // "cpu", "memory", …

// What the kernel counted for a group and everything below it. Zero where a controller is missing.
struct CgroupUsage {
  uint64_t cpu_user_us = 0;
  uint64_t cpu_system_us = 0;
  uint64_t memory_bytes = 0;
  // The peaks are the kernel's own where it keeps them, else the highest value that `usage` has seen.
  uint64_t memory_peak_bytes = 0;
  uint64_t pids = 0;
  uint64_t pids_peak = 0;
  // On v1 the kernel counts the traffic of a device only after somebody called `set_io` for it (0, 0 will do).
  uint64_t io_read_bytes = 0;
  uint64_t io_write_bytes = 0;
  // On v1 these two are sums over the groups that still exist: read them before removing a child.
  uint64_t oom_kills = 0;     // processes in it that were killed at its memory limit or at one around it
  uint64_t pids_refused = 0;  // forks refused at a process limit
};

// One group: a folder in the v2 tree, or one folder in each v1 hierarchy that is needed.
//
// A handle, held by descriptors (one on v2, up to six on v1), so it works after the process has changed its root.
// The group outlives its handle, as a sandbox outlives the server: `remove` or `destroy` ends it.
// One thread at a time, but for `usage` and `populated`.
class Cgroup {
 public:
  virtual ~Cgroup() = default;

  virtual const std::string& name() const = 0;
  virtual bool has(Controller controller) const = 0;

  // Limits. Unsupported where the controller is missing, with a hint of how to get it.
  virtual Result<void> set_cpus(double cpus) = 0;  // at least 0.01
  // On how many CPUs its programs may run, and so how many they see; 0: on all. Which ones differs from group to group.
  virtual Result<void> set_cpu_count(unsigned count) = 0;
  // And so much swap beyond it; Unsupported where the kernel does not count swap, unless that is 0.
  virtual Result<void> set_memory(uint64_t bytes, uint64_t swap) = 0;
  virtual bool counts_swap() const = 0;
  virtual Result<void> set_pids(uint64_t count) = 0;
  // Bytes per second of one block device (major:minor of a whole disk); 0 leaves that direction free.
  virtual Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) = 0;

  // Returns when all tasks stand still; Unavailable, and thawed again, where they do not within two seconds.
  virtual Result<void> freeze() = 0;
  virtual Result<void> thaw() = 0;
  // SIGKILL to everything in it and below, frozen or not, also to what forks meanwhile; returns when the signal is
  // sent to all. Nothing can live in a killed group again: make another. This process must not be in it.
  virtual Result<void> kill() = 0;
  virtual Result<bool> populated() const = 0;

  // Descriptors into which a process (of one thread) writes "0" to move itself into this group.
  virtual Result<std::vector<UniqueFd>> open_join_fds() const = 0;
  // v2: the folder, for clone3 with CLONE_INTO_CGROUP, which is faster than joining; owned by this. v1: -1.
  virtual int clone_fd() const = 0;

  virtual Result<CgroupUsage> usage() const = 0;
  // Makes `usage` of this handle quicker, at the price of some descriptors, where opening files is what takes its time;
  // what is charged now (`memory_bytes`) is not told then.
  virtual void keep_counters_open() {}
  // Removes it and the groups below it. Unavailable while something lives in it: then try later, or `destroy`.
  virtual Result<void> remove() = 0;
  // A group below this one, with limits and counters of its own, frozen and killed with this one. On v2 a group that
  // has children can hold no processes of its own: they join the leaves.
  virtual Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) = 0;
  // A child that an earlier process made.
  virtual Result<std::unique_ptr<Cgroup>> adopt_child(const std::string& name) = 0;

  // What another process needs to make a handle of its own of the same group; the descriptors stay this one's.
  struct Parts {
    int version = 2;
    std::vector<unsigned> kinds;  // of each descriptor
    std::vector<int> folders;
  };
  virtual Parts parts() const = 0;
};

// A handle of a group that another process holds. What its user may not do to the group, it cannot; reading it can.
Result<std::unique_ptr<Cgroup>> cgroup_from_parts(const std::string& name, int version,
                                                  const std::vector<unsigned>& kinds, std::vector<UniqueFd> folders);

// Kills what is in the group, waits until it is gone and removes it; Unavailable where `patience` was not enough.
Result<void> destroy(Cgroup& group, std::chrono::milliseconds patience = std::chrono::seconds(5));

// Where this process may make groups, found once. One thread at a time. Names of groups are of [A-Za-z0-9_.-].
class CgroupTree {
 public:
  virtual ~CgroupTree() = default;

  // Looks at /proc/self/cgroup and the mounts: prefers v2 where it has the controllers, else v1. Unsupported,
  // with a hint, where this process may make no groups at all. Makes and changes nothing.
  //
  // Groups are made in this process's own group, so that its limits hold for them too; but as root in a v2 tree that
  // is all visible, at the top. A v2 group with processes cannot hand on its controllers: there the first `create`
  // moves this process, and whatever else is in its group, into a leaf `cove-front`.
  static Result<std::unique_ptr<CgroupTree>> find();
  // Groups in the group of another process, below the limits that whoever made that has set.
  static Result<std::unique_ptr<CgroupTree>> find_around(pid_t process);

  virtual int version() const = 0;
  virtual bool has(Controller controller) const = 0;
  virtual bool counts_swap() const = 0;  // as far as can be told without a group
  // Controllers present on this machine that this process cannot use, and why (for doctor); empty if none.
  virtual std::string describe() const = 0;
  // Makes the group `name` with all the controllers of `wanted` that there are. Freezer and kill come with v2.
  virtual Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) = 0;
  // The group of that name that an earlier process made.
  virtual Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) = 0;
  // Names of all groups made by `create` that begin with `prefix` (to find what a killed process left), sorted.
  virtual Result<std::vector<std::string>> list(const std::string& prefix) const = 0;
};

}  // namespace cove::sys
