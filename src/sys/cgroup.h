#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Control groups, v2 and v1 behind one interface.
namespace cove::sys {

enum class Controller { Cpu, Memory, Pids, Io, Freezer };

// What the kernel counted for a group and everything below it. Zero where a controller is missing.
struct CgroupUsage {
  uint64_t cpu_user_us = 0;
  uint64_t cpu_system_us = 0;
  uint64_t memory_bytes = 0;
  uint64_t memory_peak_bytes = 0;
  uint64_t pids = 0;
  uint64_t pids_peak = 0;
  uint64_t io_read_bytes = 0;
  uint64_t io_write_bytes = 0;
  uint64_t oom_kills = 0;   // processes killed at this group's memory limit
  uint64_t pids_refused = 0;  // forks refused at this group's process limit
};

// One group: a folder in the v2 tree, or one folder in each v1 hierarchy that is needed.
// Removed by its destructor (children must be gone before); `remove` tells whether it worked.
class Cgroup {
 public:
  virtual ~Cgroup() = default;

  virtual bool has(Controller controller) const = 0;

  // Limits. Unsupported where the controller is missing, with a hint of how to get it.
  virtual Result<void> set_cpus(double cpus) = 0;
  virtual Result<void> set_memory(uint64_t bytes) = 0;  // and no swap beyond it
  virtual Result<void> set_pids(uint64_t count) = 0;
  // Bytes per second of one block device (major:minor); 0 leaves that direction free.
  virtual Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) = 0;

  virtual Result<void> freeze() = 0;  // returns when all tasks stand still
  virtual Result<void> thaw() = 0;
  // SIGKILL to everything in it and below, also to what forks meanwhile; returns when the signal is sent to all.
  virtual Result<void> kill() = 0;
  virtual Result<bool> populated() const = 0;

  // Descriptors into which a process writes "0" to move itself into this group.
  virtual Result<std::vector<UniqueFd>> open_join_fds() const = 0;

  virtual Result<CgroupUsage> usage() const = 0;
  virtual Result<void> remove() = 0;
  // A group below this one, with the same controllers.
  virtual Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) = 0;
};

// Where this process may make groups, found once.
class CgroupTree {
 public:
  virtual ~CgroupTree() = default;

  // Looks at /proc/self/cgroup and the mounts: prefers v2 where it has the controllers, else v1. Unsupported,
  // with a hint, where this process may make no groups at all. Makes and changes nothing.
  static Result<std::unique_ptr<CgroupTree>> find();

  virtual int version() const = 0;
  virtual bool has(Controller controller) const = 0;
  // Controllers present on this machine that this process cannot use, and why (for doctor); empty if none.
  virtual std::string describe() const = 0;
  // Makes the group `name` with all the controllers of `wanted` that there are. Freezer and kill come with v2.
  virtual Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) = 0;
  // The group of that name that an earlier process made.
  virtual Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) = 0;
  // Names of all groups made by `create` that begin with `prefix` (to find what a killed process left).
  virtual Result<std::vector<std::string>> list(const std::string& prefix) const = 0;
};

}  // namespace cove::sys
