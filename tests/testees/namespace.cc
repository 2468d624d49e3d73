// Attempts to make, enter or change namespaces.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "testee.h"

namespace {

using namespace testee;

Outcome unshare(uint64_t flags) { return call(::syscall(SYS_unshare, flags)); }

Outcome clone(uint64_t flags) {
  long pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) ::_exit(0);
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return call(pid);
}

Outcome clone3(uint64_t flags) {
  clone_args arguments = {};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return call(pid);
}

Outcome enter(const char* path, int type) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return denied();
  return call(::syscall(SYS_setns, fd, type));
}

Outcome enter_all_of_process_1() {
  long pidfd = ::syscall(SYS_pidfd_open, 1, 0);
  if (pidfd < 0) return denied();
  return call(::syscall(SYS_setns, pidfd, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET));
}

constexpr Attempt kAttempts[] = {
    {"unshare_user", [] { return unshare(CLONE_NEWUSER); }},
    {"unshare_mount", [] { return unshare(CLONE_NEWNS); }},
    {"unshare_pid", [] { return unshare(CLONE_NEWPID); }},
    {"unshare_network", [] { return unshare(CLONE_NEWNET); }},
    {"unshare_ipc", [] { return unshare(CLONE_NEWIPC); }},
    {"unshare_uts", [] { return unshare(CLONE_NEWUTS); }},
    {"unshare_cgroup", [] { return unshare(CLONE_NEWCGROUP); }},
    {"unshare_time", [] { return unshare(CLONE_NEWTIME); }},
    {"unshare_user_and_mount", [] { return unshare(CLONE_NEWUSER | CLONE_NEWNS); }},
    {"unshare_user_with_files", [] { return unshare(CLONE_NEWUSER | CLONE_FILES | CLONE_FS); }},
    {"unshare_user_with_high_bits", [] { return unshare(CLONE_NEWUSER | 1ull << 40); }},
    {"clone_user", [] { return clone(CLONE_NEWUSER); }},
    {"clone_mount", [] { return clone(CLONE_NEWNS); }},
    {"clone_pid", [] { return clone(CLONE_NEWPID); }},
    {"clone_network", [] { return clone(CLONE_NEWNET); }},
    {"clone_ipc", [] { return clone(CLONE_NEWIPC); }},
    {"clone_uts", [] { return clone(CLONE_NEWUTS); }},
    {"clone_cgroup", [] { return clone(CLONE_NEWCGROUP); }},
    {"clone_user_with_high_bits", [] { return clone(CLONE_NEWUSER | 1ull << 40); }},
    {"clone3_plain", [] { return clone3(0); }},
    {"clone3_user", [] { return clone3(CLONE_NEWUSER); }},
    {"setns_own_user", [] { return enter("/proc/self/ns/user", CLONE_NEWUSER); }},
    {"setns_own_mount", [] { return enter("/proc/self/ns/mnt", CLONE_NEWNS); }},
    {"setns_own_network", [] { return enter("/proc/self/ns/net", CLONE_NEWNET); }},
    {"setns_own_pid", [] { return enter("/proc/self/ns/pid", 0); }},
    {"setns_user_of_process_1", [] { return enter("/proc/1/ns/user", 0); }},
    {"setns_mount_of_process_1", [] { return enter("/proc/1/ns/mnt", 0); }},
    {"setns_pidfd_of_process_1", enter_all_of_process_1},
    {"write_uid_map", [] { return write_to("/proc/self/uid_map", "0 0 4294967295\n"); }},
    {"write_gid_map", [] { return write_to("/proc/self/gid_map", "0 0 4294967295\n"); }},
    {"write_time_offsets", [] { return write_to("/proc/self/timens_offsets", "boottime 86400 0\n"); }},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
