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

// clone3 with CLONE_* namespace flags and a pidfd; pid is 0 in the child. Its end raises SIGCHLD. With CLONE_PARENT the
// child is a sibling, which the common parent reaps.
Result<Child> clone3(uint64_t flags);
// The same, called by root for another user, who owns the new namespaces; root's capabilities still apply to the call.
// The child runs as that user.
Result<Child> clone3_as(uid_t owner, uint64_t flags);
// The CPUs that this process may use; empty if unknown.
cpu_set_t allowed_cpus();
// Selects `count` consecutive CPUs of these; `start` spreads the selections of different callers.
cpu_set_t some_of(const cpu_set_t& allowed, unsigned count, unsigned start);
// Moves a new child, which may use `allowed` from then on, to another CPU than this one, on which its creator
// continues: the kernel often queues it behind its creator although another CPU is idle. Children it forks before this
// returns may be excluded from this CPU, so their allowed CPUs must be set, too.
void start_on_another_cpu(pid_t child, const cpu_set_t& allowed);

Result<void> unshare(int flags);
Result<void> setns(int fd, int flags);
Result<void> kill_by_pidfd(int pidfd, int signal);
// Whether the process has ended or ends within that time.
bool ends_within(int pidfd, std::chrono::milliseconds patience);
// Waits for the child's end; returns the status of waitpid.
Result<int> wait_for(pid_t pid);

// Maps of user ids and group ids into a user namespace.
struct IdMapEntry {
  uint32_t inside;
  uint32_t outside;
  uint32_t count;
};
using IdMap = std::vector<IdMapEntry>;
std::string id_map_text(const IdMap& map);
// Writes both maps of a process's new user namespace; use Deny if the caller has no privilege over groups.
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
