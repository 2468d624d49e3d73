// Attempts to get back what was given up: capabilities, identities, fences, limits.
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

constexpr uint32_t kForeignId = 70'000;  // outside every map

// Of <linux/ioprio.h>, which newer kernels have made no C++.
constexpr int kIoPriorityOfProcess = 1;
constexpr int kRealtimeIo = 1 << 13;  // the highest level of the class

uint64_t permitted() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ::syscall(SYS_capget, &header, data);
  return data[0].permitted | static_cast<uint64_t>(data[1].permitted) << 32;
}

Outcome raise_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {{~0u, ~0u, ~0u}, {0x1ff, 0x1ff, 0x1ff}};
  return call(::syscall(SYS_capset, &header, data));
}

Outcome clear_no_new_privileges() { return call(::prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)); }

// A filter that allows everything does not take the first one's answers back.
Outcome overrule_filter() {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {1, allow};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return denied();
  return call(::syscall(SYS_keyctl, 0, 0));
}

Outcome raise_limit(__rlimit_resource resource, pid_t pid) {
  struct rlimit limit;
  if (::prlimit(pid, resource, nullptr, &limit) < 0) return denied();
  if (limit.rlim_max == RLIM_INFINITY) return held("not limited");
  ++limit.rlim_max;
  return call(::prlimit(pid, resource, &limit, nullptr));
}

// Runs this program again from the copy; it tells what it became.
Outcome execute_privileged(const char* path) {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(path, path, "gained", nullptr);
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 98) return denied(EACCES);
  return WEXITSTATUS(status) == 0 ? held("gained nothing") : done("gained privileges");
}

bool copy_self(const char* path) {
  int from = ::open("/proc/self/exe", O_RDONLY);
  int to = ::open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
  char block[65536];
  for (ssize_t size; from >= 0 && to >= 0 && (size = ::read(from, block, sizeof block)) > 0;)
    if (::write(to, block, static_cast<size_t>(size)) != size) return false;
  ::close(to);
  return to >= 0;
}

// Made by the caller's own hand; the file that root inside made is PREPARED, set up by the test.
Outcome own_setuid_file() {
  if (!copy_self("/tmp/setuid") || ::chmod("/tmp/setuid", 06755) < 0) return denied();
  return execute_privileged("/tmp/setuid");
}

Outcome roots_setuid_file() { return execute_privileged(setting("PREPARED")); }

Outcome file_capabilities() {
  vfs_cap_data data = {};
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = ~0u;
  if (!copy_self("/tmp/capable")) return denied();
  if (::setxattr("/tmp/capable", "security.capability", &data, XATTR_CAPS_SZ_2, 0) < 0) return denied();
  return execute_privileged("/tmp/capable");
}

Outcome realtime_priority() {
  sched_param parameters = {10};
  return call(::sched_setscheduler(0, SCHED_FIFO, &parameters));
}

Outcome deadline_priority() {
  struct {
    uint32_t size = 48, policy = 6;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 10'000'000, deadline = 100'000'000, period = 100'000'000;
  } attributes;
  return call(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

Outcome move_program_break() {
  return call(::prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, ::open("/proc/self/exe", O_RDONLY), 0, 0));
}

Outcome regain_user() {
  if (::geteuid() == 0) return call(::setresuid(kForeignId, kForeignId, kForeignId));
  return call(::setresuid(0, 0, 0));
}

Outcome regain_groups() {
  gid_t groups[] = {::geteuid() == 0 ? kForeignId : 0};
  return call(::setgroups(1, groups));
}

constexpr Attempt kAttempts[] = {
    {"raise_capabilities", raise_capabilities},
    {"raise_ambient", [] { return call(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0)); }},
    {"clear_no_new_privileges", clear_no_new_privileges},
    {"clear_seccomp", [] { return call(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_DISABLED, 0, 0, 0)); }},
    {"overrule_filter", overrule_filter},
    {"set_mm", move_program_break},
    {"regain_user", regain_user},
    {"regain_groups", regain_groups},
    {"raise_nofile", [] { return raise_limit(RLIMIT_NOFILE, 0); }},
    {"raise_limit_of_process_1", [] { return raise_limit(RLIMIT_NOFILE, 1); }},
    {"realtime_priority", realtime_priority},
    {"deadline_priority", deadline_priority},
    {"negative_nice", [] { return call(::setpriority(PRIO_PROCESS, 0, -20)); }},
    {"realtime_io", [] { return call(::syscall(SYS_ioprio_set, kIoPriorityOfProcess, 0, kRealtimeIo)); }},
    {"own_setuid_file", own_setuid_file},
    {"roots_setuid_file", roots_setuid_file},
    {"file_capabilities", file_capabilities},
};

}  // namespace

int main(int argc, char** argv) {
  refuse_outside();
  if (argc == 2 && std::strcmp(argv[1], "gained") == 0) {
    // More than what the sandbox's user may have, or another identity than its own.
    constexpr uint64_t kRoots = 0x800405fb;
    bool more = ::geteuid() != ::getuid() || ::getegid() != ::getgid() || (permitted() & ~kRoots) != 0;
    return more || (::getuid() != 0 && permitted() != 0) ? 1 : 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "prepare") == 0)
    return copy_self(setting("PREPARED")) && ::chmod(setting("PREPARED"), 06755) == 0 ? 0 : 1;
  return run(argc, argv, kAttempts);
}
