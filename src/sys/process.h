#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Processes, their namespaces and their credentials.
namespace cove::sys {

// A child of this process, reaped by its owner.
struct Child {
  pid_t pid = -1;
  UniqueFd pidfd;
};

// clone3 with CLONE_* namespace flags and a pidfd; pid is 0 in the child. SIGCHLD tells of its end. With CLONE_PARENT
// the child is a sibling, for the common parent to reap.
Result<Child> clone3(uint64_t flags);
// The same by root as another user, who owns the namespaces that are made; root's capabilities count for it all the
// same. The child is that user.
Result<Child> clone3_as(uid_t owner, uint64_t flags);
// The CPUs that this process may use; empty where it cannot be told.
cpu_set_t allowed_cpus();
// So many of these CPUs, one after the other, beginning anywhere: `start` spreads those who choose.
cpu_set_t some_of(const cpu_set_t& allowed, unsigned count, unsigned start);
// Lets a new child, which may use `allowed` from then on, begin on another CPU than this one, where its maker works on:
// the kernel often leaves it waiting behind its maker though another CPU is idle. What the child forks before this
// returns may be kept from this CPU: its allowed CPUs must be set, too.
void start_on_another_cpu(pid_t child, const cpu_set_t& allowed);

Result<void> unshare(int flags);
Result<void> setns(int fd, int flags);
Result<void> kill_by_pidfd(int pidfd, int signal);
// Whether the process has ended, or does within that time.
bool ends_within(int pidfd, std::chrono::milliseconds patience);
// Waits for the child's end; the status is as waitpid gives it.
Result<int> wait_for(pid_t pid);

// Maps of user ids and group ids into a user namespace.
struct IdMapEntry {
  uint32_t inside;
  uint32_t outside;
  uint32_t count;
};
using IdMap = std::vector<IdMapEntry>;
std::string id_map_text(const IdMap& map);
// Writes both maps of a process's new user namespace; Deny where the caller has no privilege over groups.
enum class Setgroups { Keep, Deny };
Result<void> write_id_maps(pid_t pid, const IdMap& users, const IdMap& groups, Setgroups setgroups);

// The credentials that the kernel uses for file access of this thread.
Result<void> set_fs_ids(uint32_t uid, uint32_t gid);
// Raw capability sets of this thread, bit n for capability n.
struct Capabilities {
  uint64_t effective = 0;
  uint64_t permitted = 0;
  uint64_t inheritable = 0;
};
Result<Capabilities> capget();
Result<void> capset(const Capabilities& sets);

}  // namespace cove::sys
