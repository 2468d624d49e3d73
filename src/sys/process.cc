#include "sys/process.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {

Result<Child> clone3(uint64_t flags) {
  int pidfd = -1;
  struct clone_args args = {};
  args.flags = flags | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  // A sibling uses the exit signal of its creator.
  args.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD;
  long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return fail_errno("clone3");
  return Child{static_cast<pid_t>(pid), UniqueFd(pid == 0 ? -1 : pidfd)};
}

// Some machines require capabilities for creating user namespaces, and a change of identity drops the effective ones.
Result<Child> clone3_as(uid_t owner, uint64_t flags) {
  if (::seteuid(owner) < 0) return fail_errno("seteuid");
  Capabilities sets = COVE_TRY(capget());
  sets.effective = sets.permitted;
  COVE_TRY(capset(sets));
  Result<Child> child = clone3(flags);
  const bool in_child = child && child->pid == 0;
  if (!in_child && ::seteuid(0) < 0) return fail_errno("seteuid");
  return child;
}

cpu_set_t allowed_cpus() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) < 0) CPU_ZERO(&allowed);
  return allowed;
}

cpu_set_t some_of(const cpu_set_t& allowed, unsigned count, unsigned start) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (size_t i = 0; i < std::min<size_t>(count, cpus.size()); ++i) CPU_SET(cpus[(start + i) % cpus.size()], &chosen);
  return chosen;
}

void start_on_another_cpu(pid_t child, const cpu_set_t& allowed) {
  int here = ::sched_getcpu();
  if (here < 0 || CPU_COUNT(&allowed) == 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) > 0) ::sched_setaffinity(child, sizeof others, &others);
  ::sched_setaffinity(child, sizeof allowed, &allowed);
}

Result<void> unshare(int flags) {
  if (::unshare(flags) < 0) return fail_errno("unshare");
  return {};
}

Result<void> setns(int fd, int flags) {
  if (::setns(fd, flags) < 0) return fail_errno("setns");
  return {};
}

Result<void> kill_by_pidfd(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) < 0) return fail_errno("pidfd_send_signal");
  return {};
}

bool ends_within(int pidfd, std::chrono::milliseconds patience) {
  pollfd polled = {pidfd, POLLIN, 0};
  return ::poll(&polled, 1, static_cast<int>(patience.count())) > 0;
}

Result<int> wait_for(pid_t pid) {
  int status = 0;
  pid_t got;
  do {
    got = ::waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno("waitpid");
  return status;
}

std::string id_map_text(const IdMap& map) {
  std::string text;
  for (const IdMapEntry& entry : map) text += concat(entry.inside, " ", entry.outside, " ", entry.count, "\n");
  return text;
}

Result<void> write_id_maps(pid_t pid, const IdMap& users, const IdMap& groups, Setgroups setgroups) {
  std::string folder = concat("/proc/", pid, "/");
  COVE_TRY(poke(folder + "uid_map", id_map_text(users)));
  if (setgroups == Setgroups::Deny) COVE_TRY(poke(folder + "setgroups", "deny"));
  return poke(folder + "gid_map", id_map_text(groups));
}

Result<void> set_fs_ids(uint32_t uid, uint32_t gid) {
  ::setfsgid(gid);
  ::setfsuid(uid);
  // These calls return the previous id and no error, so the result is read back.
  if (static_cast<uint32_t>(::setfsuid(static_cast<uid_t>(-1))) != uid ||
      static_cast<uint32_t>(::setfsgid(static_cast<gid_t>(-1))) != gid)
    return fail(Code::Denied, concat("setfsuid ", uid, ": not permitted"));
  return {};
}

Result<Capabilities> capget() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) < 0) return fail_errno("capget");
  auto joined = [&](auto field) {
    return static_cast<uint64_t>(data[0].*field) | static_cast<uint64_t>(data[1].*field) << 32;
  };
  return Capabilities{joined(&__user_cap_data_struct::effective), joined(&__user_cap_data_struct::permitted),
                      joined(&__user_cap_data_struct::inheritable)};
}

Result<void> capset(const Capabilities& sets) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int half = 0; half < 2; ++half) {
    data[half].effective = static_cast<uint32_t>(sets.effective >> (32 * half));
    data[half].permitted = static_cast<uint32_t>(sets.permitted >> (32 * half));
    data[half].inheritable = static_cast<uint32_t>(sets.inheritable >> (32 * half));
  }
  if (::syscall(SYS_capset, &header, data) < 0) return fail_errno("capset");
  return {};
}

}  // namespace cove::sys
