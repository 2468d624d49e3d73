// Attempts from a user namespace made inside, which --nesting allows: all-powerful there, and nowhere else.
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "testee.h"

extern "C" {
int mount(const char*, const char*, const char*, unsigned long, const void*);
int umount2(const char*, int);
int unshare(int);
}

namespace {

using namespace testee;

constexpr unsigned long kBind = 4096;
constexpr unsigned long kRemount = 32;
constexpr int kDetach = 2;

bool map_self(const char* file, unsigned id) {
  char line[32];
  std::snprintf(line, sizeof line, "0 %u 1\n", id);
  return write_to(file, line).kind == Outcome::Kind::Done;
}

// Becomes root of a nested user namespace with all the other namespaces of its own.
Outcome in_nested(Outcome (*attempt)(), int also = CLONE_NEWNS) {
  unsigned uid = ::getuid(), gid = ::getgid();
  if (::unshare(CLONE_NEWUSER | also) < 0) return denied();
  write_to("/proc/self/setgroups", "deny");
  if (!map_self("/proc/self/uid_map", uid) || !map_self("/proc/self/gid_map", gid)) return denied();
  return attempt();
}

// The same, as process 1 of a process namespace.
Outcome in_nested_processes(Outcome (*attempt)()) {
  static Outcome (*chosen)();
  chosen = attempt;
  return in_nested(
      [] {
        if (::fork() == 0) {
          Outcome outcome = chosen();
          ::_exit(outcome.kind == Outcome::Kind::Done ? 0 : outcome.errnum);
        }
        siginfo_t info = {};
        ::waitid(P_ALL, 0, &info, WEXITED);
        return info.si_status == 0 ? done() : denied(info.si_status);
      },
      CLONE_NEWNS | CLONE_NEWPID);
}

Outcome mount_type(const char* type, const char* options = nullptr) {
  return call(::mount(kMark, "/mnt", type, 0, options));
}

// With a /proc of its own at /mnt, without covers.
Outcome in_nested_proc(Outcome (*attempt)()) {
  static Outcome (*chosen)();
  chosen = attempt;
  return in_nested_processes([] {
    Outcome mounted = mount_type("proc");
    return mounted.kind == Outcome::Kind::Done ? chosen() : mounted;
  });
}

Outcome works() {
  return in_nested(
      [] { return ::mount(kMark, "/mnt", "tmpfs", 0, nullptr) < 0 ? denied() : held("a mount of its own"); });
}

Outcome host_file() {
  return in_nested([] { return read_from(setting("HOST_FILE_OPT")); });
}

Outcome write_cgroup() {
  return in_nested(
      [] {
        if (::mount(kMark, "/mnt", "cgroup", 0, "memory") < 0 && ::mount(kMark, "/mnt", "cgroup2", 0, nullptr) < 0)
          return denied();
        Outcome agent = write_to("/mnt/release_agent", "/cove-testee\n");
        if (agent.kind == Outcome::Kind::Done) return agent;
        Outcome limit = write_to("/mnt/memory.limit_in_bytes", "-1\n");
        return limit.kind == Outcome::Kind::Absent ? write_to("/mnt/cgroup.procs", "0\n") : limit;
      },
      CLONE_NEWNS | CLONE_NEWCGROUP);
}

Outcome set_time() {
  return in_nested([] {
    timespec time = {24 * 60 * 60, 0};
    return call(::syscall(SYS_clock_settime, CLOCK_REALTIME, &time));
  });
}

Outcome climb() {
  return in_nested([] {
    struct stat before, after;
    int root = ::open("/", O_RDONLY | O_DIRECTORY);
    if (::stat("/", &before) < 0 || ::chroot("/mnt") < 0 || ::fchdir(root) < 0) return denied();
    for (int i = 0; i < 64; ++i)
      if (::chdir("..") < 0) return denied();
    if (::chroot(".") < 0 || ::stat("/", &after) < 0) return denied();
    return before.st_ino == after.st_ino && before.st_dev == after.st_dev ? held("still the sandbox's root") : done();
  });
}

// An overlay with its upper folder in the workspace: the kernel itself copies a set-user-id program there.
Outcome copy_set_id() {
  for (const char* folder : {"/workspace/low", "/workspace/up", "/workspace/work"})
    if (::mkdir(folder, 0755) < 0 && errno != EEXIST) return denied();
  if (::rename("/workspace/setuid", "/workspace/low/program") < 0) return denied();
  return in_nested([] {
    const char* options = "lowerdir=/workspace/low,upperdir=/workspace/up,workdir=/workspace/work,userxattr";
    if (::mount(kMark, "/mnt", "overlay", 0, options) < 0) return denied();
    if (::utimensat(AT_FDCWD, "/mnt/program", nullptr, 0) < 0) return denied();
    struct stat copy;
    if (::stat("/workspace/up/program", &copy) < 0) return denied();
    return copy.st_mode & S_ISUID ? done() : held("without the bit");
  });
}

constexpr Attempt kAttempts[] = {
    {"nested_overlay_set_id", copy_set_id},
    {"nested_mount", works},
    {"nested_proc", [] { return in_nested_processes([] { return mount_type("proc"); }); }},
    {"nested_proc_sysrq", [] { return in_nested_proc([] { return write_to("/mnt/sysrq-trigger", "h"); }); }},
    {"nested_proc_core_pattern",
     [] { return in_nested_proc([] { return write_to("/mnt/sys/kernel/core_pattern", "|/cove-testee\n"); }); }},
    {"nested_proc_kcore", [] { return in_nested_proc([] { return read_from("/mnt/kcore"); }); }},
    {"nested_proc_kmsg", [] { return in_nested_proc([] { return read_from("/mnt/kmsg"); }); }},
    {"kept_proc", [] { return read_from("/sys/.closed/proc/uptime"); }},
    {"nested_proc_of_sandbox", [] { return in_nested([] { return mount_type("proc"); }); }},
    {"nested_sysfs", [] { return in_nested([] { return mount_type("sysfs"); }, CLONE_NEWNS | CLONE_NEWNET); }},
    {"nested_disk", [] { return in_nested([] { return mount_type("ext4"); }); }},
    {"nested_unmask", [] { return in_nested([] { return call(::umount2("/proc/keys", kDetach)); }); }},
    {"nested_unmount_proc", [] { return in_nested([] { return call(::umount2("/proc", kDetach)); }); }},
    {"nested_remount_proc_sys",
     [] { return in_nested([] { return call(::mount(nullptr, "/proc/sys", nullptr, kRemount | kBind, nullptr)); }); }},
    {"nested_remount_suid",
     [] { return in_nested([] { return call(::mount(nullptr, "/usr", nullptr, kRemount | kBind, nullptr)); }); }},
    {"nested_bind_parent_of_mask",
     [] { return in_nested([] { return call(::mount("/proc", "/mnt", nullptr, kBind, nullptr)); }); }},
    {"nested_core_pattern",
     [] { return in_nested([] { return write_to("/proc/sys/kernel/core_pattern", "|/cove-testee\n"); }); }},
    {"nested_device",
     [] { return in_nested([] { return call(::mknod("/tmp/nested", S_IFCHR | 0666, makedev(1, 1))); }); }},
    {"nested_enter_process_1", [] { return in_nested([] { return call(::open("/proc/1/ns/mnt", O_RDONLY)); }); }},
    {"nested_process_1_root", [] { return in_nested([] { return read_from("/proc/1/root/etc/passwd"); }); }},
    {"nested_host_file", host_file},
    {"nested_cgroup", write_cgroup},
    {"nested_clock", set_time},
    {"nested_hostname", [] { return in_nested([] { return call(::syscall(SYS_sethostname, kMark, 11)); }); }},
    {"nested_raw_socket", [] { return in_nested([] { return call(::socket(AF_INET, SOCK_RAW, 1)); }); }},
    {"nested_packet_socket",
     [] { return in_nested([] { return call(::socket(AF_PACKET, SOCK_RAW, 0)); }, CLONE_NEWNET); }},
    {"nested_keyctl", [] { return in_nested([] { return call(::syscall(SYS_keyctl, 1, nullptr)); }); }},
    {"nested_bpf", [] { return in_nested([] { return call(::syscall(SYS_bpf, 0, nullptr, 0)); }); }},
    {"nested_open_by_handle",
     [] { return in_nested([] { return call(::syscall(SYS_open_by_handle_at, 0, nullptr, 0)); }); }},
    {"nested_chroot", climb},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
