#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cove::init {

// Where the bundle (runtime/oci/bundle.h) shows the library of stat_shim.cc.
inline constexpr const char* kStatLibrary = "/dev/cove/cove-stat.so";

// Control groups of a kernel that process 1 has for itself (gVisor's): one group bounds the number of processes of all
// programs, and in another hierarchy each program has a group that tells what belongs to it. The programs do not see
// them.
class InnerGroups {
 public:
  InnerGroups() = default;
  // Mounts them, and makes the group with the bound; `processes` 0: none. 0, or -1 with errno.
  int make(uint64_t processes);

  // Where a process (of one thread) writes its number to be in the program's groups; empty where that fails, with
  // errno.
  std::vector<UniqueFd> open(const std::string& program) const;
  // All that is in the program's group, also what forks meanwhile; gives up after a while.
  void kill(const std::string& program) const;
  bool contains(const std::string& program, pid_t pid) const;
  // Unless something is left in it.
  void remove(const std::string& program) const;

 private:
  std::vector<pid_t> processes_of(const std::string& program) const;

  UniqueFd bounded_;   // the group with the bound
  UniqueFd programs_;  // the hierarchy of the programs' groups
};

// What the programs of this kernel use.
uint64_t memory_in_use();
// The one with the most, and how much; -1 where there is none.
pid_t largest_process();

}  // namespace cove::init
