#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cove::init {

// Where the bundle (runtime/oci/bundle.h) mounts the library of stat_shim.cc.
inline constexpr const char* kStatLibrary = "/dev/cove/cove-stat.so";

// Control groups in gVisor's kernel: one group limits the number of processes of all programs, and in another hierarchy
// each program has a group that identifies its processes. The programs do not see them.
class InnerGroups {
 public:
  InnerGroups() = default;
  // Mounts them and creates the limited group; `processes` 0: no limit. Returns 0, or -1 with errno.
  int make(uint64_t processes);

  // The files to which a single-threaded process writes its pid to join the program's groups; empty, with errno, on
  // failure.
  std::vector<UniqueFd> open(const std::string& program) const;
  // Kills everything in the program's group, including processes that fork meanwhile; gives up after a while.
  void kill(const std::string& program) const;
  bool contains(const std::string& program, pid_t pid) const;
  // Removes the group if it is empty.
  void remove(const std::string& program) const;

 private:
  std::vector<pid_t> processes_of(const std::string& program) const;

  UniqueFd bounded_;   // the group with the limit
  UniqueFd programs_;  // the hierarchy of the programs' groups
};

// The memory that the programs of this kernel use.
uint64_t memory_in_use();
// The largest process and its memory; -1 if there is none.
pid_t largest_process();

}  // namespace cove::init
