// Attempts on what procfs, sysfs and /dev show of the kernel and of process 1.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

constexpr const char* kPipe = "|/cove-testee\n";

Outcome read_link(const char* path) {
  char target[4096];
  return call(::readlink(path, target, sizeof target));
}

Outcome list(const char* path) {
  DIR* folder = ::opendir(path);
  if (!folder) return denied();
  int count = 0;
  while (dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') ++count;
  return count == 0 ? held("empty") : done();
}

// Nothing else was started in this sandbox.
Outcome foreign_processes() {
  DIR* folder = ::opendir("/proc");
  if (!folder) return denied();
  while (dirent* entry = ::readdir(folder)) {
    if (!std::isdigit(static_cast<unsigned char>(entry->d_name[0]))) continue;
    char path[300], name[64] = "";
    std::snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
    if (std::FILE* file = std::fopen(path, "r")) {
      if (!std::fgets(name, sizeof name, file)) name[0] = '\0';
      std::fclose(file);
    }
    if (std::strncmp(name, "cove-init", 9) != 0 && std::strncmp(name, "testee", 6) != 0) return done("a process");
  }
  return held("only its own");
}

Outcome climb(const char* path) {
  struct stat root, reached;
  if (::stat("/", &root) < 0 || ::stat(path, &reached) < 0) return denied();
  return root.st_ino == reached.st_ino && root.st_dev == reached.st_dev ? held("the sandbox's root") : done();
}

Outcome replace_by_link(const char* path, const char* target) {
  if (::unlink(path) < 0 && errno != ENOENT) return denied();
  return call(::symlink(target, path));
}

// The names may be seen; where the kernel lies must not.
Outcome kernel_addresses() {
  std::FILE* file = std::fopen("/proc/kallsyms", "r");
  if (!file) return denied();
  char line[512];
  while (std::fgets(line, sizeof line, file))
    if (std::strspn(line, "0") < 8) return done("an address");
  return held("no addresses");
}

Outcome lower_oom_score() {
  int fd = ::open("/proc/self/oom_score_adj", O_WRONLY);
  if (fd < 0) return denied();
  return call(::write(fd, "-1000", 5));
}

constexpr Attempt kAttempts[] = {
    {"write_core_pattern", [] { return write_to("/proc/sys/kernel/core_pattern", kPipe); }},
    {"write_modprobe", [] { return write_to("/proc/sys/kernel/modprobe", "/cove-testee\n"); }},
    {"write_hostname", [] { return write_to("/proc/sys/kernel/hostname", "cove-testee\n"); }},
    {"write_panic", [] { return write_to("/proc/sys/kernel/panic", "7777\n"); }},
    {"write_sysrq", [] { return write_to("/proc/sys/kernel/sysrq", "511\n"); }},
    {"write_ns_last_pid", [] { return write_to("/proc/sys/kernel/ns_last_pid", "7777\n"); }},
    {"write_randomize_va_space", [] { return write_to("/proc/sys/kernel/randomize_va_space", "0\n"); }},
    {"write_shmmax", [] { return write_to("/proc/sys/kernel/shmmax", "7777\n"); }},
    {"write_overcommit", [] { return write_to("/proc/sys/vm/overcommit_memory", "2\n"); }},
    {"write_drop_caches", [] { return write_to("/proc/sys/vm/drop_caches", "1\n"); }},
    {"write_swappiness", [] { return write_to("/proc/sys/vm/swappiness", "77\n"); }},
    {"write_panic_on_oom", [] { return write_to("/proc/sys/vm/panic_on_oom", "0\n"); }},
    {"write_suid_dumpable", [] { return write_to("/proc/sys/fs/suid_dumpable", "2\n"); }},
    {"write_file_max", [] { return write_to("/proc/sys/fs/file-max", "7777\n"); }},
    {"write_ip_forward", [] { return write_to("/proc/sys/net/ipv4/ip_forward", "1\n"); }},
    {"write_ping_group_range", [] { return write_to("/proc/sys/net/ipv4/ping_group_range", "0 70000\n"); }},
    {"write_max_user_namespaces", [] { return write_to("/proc/sys/user/max_user_namespaces", "7777\n"); }},
    {"write_binfmt_register", [] { return write_to("/proc/sys/fs/binfmt_misc/register", ":cove-testee:E::x::/x:\n"); }},
    {"write_sysrq_trigger", [] { return write_to("/proc/sysrq-trigger", "h"); }},
    {"write_irq_affinity", [] { return write_to("/proc/irq/default_smp_affinity", "1\n"); }},
    {"write_mtrr", [] { return write_to("/proc/mtrr", "disable=99\n"); }},
    {"write_slabinfo", [] { return write_to("/proc/slabinfo", "x\n"); }},
    {"write_latency_stats", [] { return write_to("/proc/latency_stats", "0\n"); }},
    {"write_timer_list", [] { return write_to("/proc/timer_list", "0\n"); }},
    {"read_kcore", [] { return read_from("/proc/kcore"); }},
    {"read_kmsg", [] { return read_from("/proc/kmsg"); }},
    {"read_kallsyms", kernel_addresses},
    {"read_keys", [] { return read_from("/proc/keys"); }},
    {"read_kpageflags", [] { return read_from("/proc/kpageflags"); }},
    {"read_vmallocinfo", [] { return read_from("/proc/vmallocinfo"); }},
    {"list_acpi", [] { return list("/proc/acpi"); }},
    {"list_scsi", [] { return list("/proc/scsi"); }},
    {"foreign_processes", foreign_processes},
    {"lower_oom_score", lower_oom_score},
    {"process_1_root", [] { return read_from("/proc/1/root/etc/hostname"); }},
    {"process_1_root_link", [] { return read_link("/proc/1/root"); }},
    {"process_1_cwd", [] { return read_link("/proc/1/cwd"); }},
    {"process_1_environ", [] { return read_from("/proc/1/environ"); }},
    {"process_1_mem", [] { return read_from("/proc/1/mem"); }},
    {"process_1_maps", [] { return read_from("/proc/1/maps"); }},
    {"process_1_syscall", [] { return read_from("/proc/1/syscall"); }},
    {"process_1_stack", [] { return read_from("/proc/1/stack"); }},
    {"process_1_channel", [] { return read_link("/proc/1/fd/3"); }},
    {"process_1_descriptor", [] { return read_from("/proc/1/fd/0"); }},
    {"process_1_exe", [] { return read_link("/proc/1/exe"); }},
    {"process_1_namespaces", [] { return read_link("/proc/1/ns/mnt"); }},
    {"process_1_oom_score", [] { return write_to("/proc/1/oom_score_adj", "-1000"); }},
    {"process_1_map_files", [] { return list("/proc/1/map_files"); }},
    {"overwrite_process_1_program", [] { return write_to("/proc/1/exe", kMark); }},
    {"overwrite_own_program", [] { return write_to("/proc/self/exe", kMark); }},
    {"climb_root", [] { return climb("/../../../.."); }},
    {"climb_proc_self_root", [] { return climb("/proc/self/root/../../.."); }},
    {"climb_proc_self_cwd", [] { return climb("/proc/self/cwd/../../../../../../.."); }},
    {"write_uevent_helper", [] { return write_to("/sys/kernel/uevent_helper", "/cove-testee\n"); }},
    {"write_power_state", [] { return write_to("/sys/power/disk", "testproc\n"); }},
    {"write_release_agent", [] { return write_to("/sys/fs/cgroup/memory/release_agent", "/cove-testee\n"); }},
    {"make_cgroup", [] { return call(::mkdir("/sys/fs/cgroup/cove-testee", 0755)); }},
    {"replace_dev_null", [] { return replace_by_link("/dev/null", "/proc/sysrq-trigger"); }},
    {"replace_dev_console", [] { return replace_by_link("/dev/console", "/proc/sysrq-trigger"); }},
    {"replace_dev_ptmx", [] { return replace_by_link("/dev/ptmx", "/tmp/x"); }},
    {"replace_masked_path", [] { return replace_by_link("/proc/keys", "/tmp/x"); }},
    {"move_dev_away", [] { return call(::rename("/dev", "/tmp/dev")); }},
    {"move_proc_away", [] { return call(::rename("/proc", "/tmp/proc")); }},
    {"chmod_dev_null", [] { return call(::chmod("/dev/null", 0)); }},
    {"open_dev_mem", [] { return read_from("/dev/mem"); }},
    {"open_dev_kmsg", [] { return read_from("/dev/kmsg"); }},
    {"open_dev_console", [] { return read_from("/dev/console"); }},
    {"open_dev_disk", [] { return read_from("/dev/vda"); }},
    {"open_dev_kvm", [] { return read_from("/dev/kvm"); }},
    {"open_dev_fuse", [] { return read_from("/dev/fuse"); }},
    {"open_dev_tun", [] { return read_from("/dev/net/tun"); }},
    {"open_dev_loop_control", [] { return read_from("/dev/loop-control"); }},
    {"open_dev_vsock", [] { return read_from("/dev/vsock"); }},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
