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

// The kernel's counters for a group and everything below it. Zero if a controller is missing.
struct CgroupUsage {
  uint64_t cpu_user_us = 0;
  uint64_t cpu_system_us = 0;
  uint64_t memory_bytes = 0;
  // The peaks are the kernel's if it provides them, otherwise the highest value that `usage` has seen.
  uint64_t memory_peak_bytes = 0;
  uint64_t pids = 0;
  uint64_t pids_peak = 0;
  // On v1 the kernel counts the traffic of a device only after a call of `set_io` for it (0, 0 suffices).
  uint64_t io_read_bytes = 0;
  uint64_t io_write_bytes = 0;
  // On v1 these two are sums over the groups that still exist: read them before removing a child.
  uint64_t oom_kills = 0;     // processes in it that were killed at its memory limit or at one around it
  uint64_t pids_refused = 0;  // forks refused at a process limit
};

// One group: a folder in the v2 tree, or one folder in each v1 hierarchy that is needed.
//
// A handle based on descriptors (one on v2, up to six on v1), so it also works after the process has changed its root.
// The group outlives its handle, as a sandbox outlives the server: `remove` or `destroy` ends it. One thread at a time,
// except for `usage` and `populated`.
class Cgroup {
 public:
  virtual ~Cgroup() = default;

  virtual const std::string& name() const = 0;
  virtual bool has(Controller controller) const = 0;

  // Limits. Unsupported, with a hint, if the controller is missing.
  virtual Result<void> set_cpus(double cpus) = 0;  // at least 0.01
  // The number of CPUs on which its programs may run and which they see; 0: all. The chosen CPUs differ between groups.
  virtual Result<void> set_cpu_count(unsigned count) = 0;
  // And so much swap beyond it; Unsupported where the kernel does not count swap, unless that is 0.
  virtual Result<void> set_memory(uint64_t bytes, uint64_t swap) = 0;
  virtual bool counts_swap() const = 0;
  virtual Result<void> set_pids(uint64_t count) = 0;
  // Bytes per second of one block device (major:minor of a whole disk); 0 leaves that direction free.
  virtual Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) = 0;

  // Returns when all tasks are frozen; Unavailable, and thawed again, if they are not within two seconds.
  virtual Result<void> freeze() = 0;
  virtual Result<void> thaw() = 0;
  // Sends SIGKILL to everything in it and below, frozen or not, including processes that fork meanwhile; returns when
  // all have been signalled. A killed group cannot be used again. This process must not be in it.
  virtual Result<void> kill() = 0;
  virtual Result<bool> populated() const = 0;

  // Descriptors into which a process (of one thread) writes "0" to move itself into this group.
  virtual Result<std::vector<UniqueFd>> open_join_fds() const = 0;
  // v2: the folder, for clone3 with CLONE_INTO_CGROUP, which is faster than joining; owned by this. v1: -1.
  virtual int clone_fd() const = 0;

  virtual Result<CgroupUsage> usage() const = 0;
  // Makes `usage` of this handle faster at the price of some open descriptors, if opening files is slow; the current
  // charge (`memory_bytes`) is not reported then.
  virtual void keep_counters_open() {}
  // Removes it and the groups below it. Unavailable while it contains processes: try later, or use `destroy`.
  virtual Result<void> remove() = 0;
  // A group below this one, with limits and counters of its own, frozen and killed with this one. On v2 a group that
  // has children can hold no processes of its own: they join the leaves.
  virtual Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) = 0;
  // A child that an earlier process created.
  virtual Result<std::unique_ptr<Cgroup>> adopt_child(const std::string& name) = 0;

  // What another process needs to create its own handle of the same group; the descriptors still belong to this one.
  struct Parts {
    int version = 2;
    std::vector<unsigned> kinds;  // of each descriptor
    std::vector<int> folders;
  };
  virtual Parts parts() const = 0;
};

// A handle of a group of another process. It is limited to what its user may do with the group; reading always works.
Result<std::unique_ptr<Cgroup>> cgroup_from_parts(const std::string& name, int version,
                                                  const std::vector<unsigned>& kinds, std::vector<UniqueFd> folders);

// Kills the processes in the group, waits until they are gone and removes it; Unavailable if that takes longer than
// `patience`.
Result<void> destroy(Cgroup& group, std::chrono::milliseconds patience = std::chrono::seconds(5));

// Where this process may create groups, determined once. One thread at a time. Group names consist of [A-Za-z0-9_.-].
class CgroupTree {
 public:
  virtual ~CgroupTree() = default;

  // Examines /proc/self/cgroup and the mounts: prefers v2 if it has the controllers, otherwise v1. Unsupported, with a
  // hint, if this process cannot create groups. Changes nothing.
  //
  // Groups are made in this process's own group, so that its limits hold for them too; but as root in a v2 tree that
  // is all visible, at the top. A v2 group with processes cannot delegate its controllers: there the first `create`
  // moves this process, and whatever else is in its group, into a leaf `cove-front`.
  static Result<std::unique_ptr<CgroupTree>> find();
  // Groups below the group of another process, and so within its limits.
  static Result<std::unique_ptr<CgroupTree>> find_around(pid_t process);

  virtual int version() const = 0;
  virtual bool has(Controller controller) const = 0;
  virtual bool counts_swap() const = 0;  // as far as can be told without a group
  // Controllers present on this machine that this process cannot use, and why (for doctor); empty if none.
  virtual std::string describe() const = 0;
  // Creates the group `name` with all available controllers of `wanted`. v2 always includes freezer and kill.
  virtual Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) = 0;
  // The group of that name that an earlier process created.
  virtual Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) = 0;
  // Names of all groups made by `create` that begin with `prefix` (to find what a killed process left), sorted.
  virtual Result<std::vector<std::string>> list(const std::string& prefix) const = 0;
};

}  // namespace cove::sys
