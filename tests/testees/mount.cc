// Attempts on the mounts of a sandbox.
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "testee.h"

// <sys/mount.h> and <linux/mount.h> exclude each other in this C library.
extern "C" {
int mount(const char*, const char*, const char*, unsigned long, const void*);
int umount2(const char*, int);
}

namespace {

using namespace testee;

constexpr int kDetach = 2;
constexpr int kSysStatmount = 457;
constexpr int kSysListmount = 458;

Outcome mount_type(const char* type, const char* options = nullptr) {
  return call(::mount(kMark, "/mnt", type, 0, options));
}

// The classic way out of a chroot: a second one, while a descriptor still points outside the first.
Outcome double_chroot() {
  struct stat before, after;
  int root = ::open("/", O_RDONLY | O_DIRECTORY);
  if (::stat("/", &before) < 0 || ::mkdir("/tmp/cell", 0755) < 0 || ::chroot("/tmp/cell") < 0) return denied();
  if (::fchdir(root) < 0) return denied();
  for (int i = 0; i < 64; ++i)
    if (::chdir("..") < 0) return denied();
  if (::chroot(".") < 0 || ::stat("/", &after) < 0) return denied();
  bool same = before.st_ino == after.st_ino && before.st_dev == after.st_dev;
  return same ? held("still the sandbox's root") : done("another root");
}

Outcome make_writable() {
  mount_attr attributes = {};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  return call(::syscall(SYS_mount_setattr, AT_FDCWD, "/proc/sys", 0, &attributes, sizeof attributes));
}

Outcome list_mounts() {
  struct {
    uint32_t size = 24, spare = 0;
    uint64_t id = ~0ull, parameter = 0;
  } request;
  uint64_t ids[16];
  return call(::syscall(kSysListmount, &request, ids, 16, 0));
}

Outcome state_mount() {
  struct {
    uint32_t size = 24, spare = 0;
    uint64_t id = 1, parameter = 1;
  } request;
  char buffer[512];
  return call(::syscall(kSysStatmount, &request, buffer, sizeof buffer, 0));
}

// Looks for a mount whose options lack one that it should have.
Outcome find_mount(bool (*looked_at)(const char* point), const char* option) {
  std::FILE* table = std::fopen("/proc/self/mountinfo", "re");
  if (!table) return denied();
  char line[4096], point[1024], options[1024];
  while (std::fgets(line, sizeof line, table)) {
    if (std::sscanf(line, "%*d %*d %*s %*s %1023s %1023s", point, options) != 2 || !looked_at(point)) continue;
    bool has = false;
    for (char* word = std::strtok(options, ","); word; word = std::strtok(nullptr, ","))
      has = has || std::strcmp(word, option) == 0;
    static char found[1024];
    if (!has) return done(std::strcpy(found, point));
  }
  return held("none");
}

bool is_any(const char*) { return true; }

bool is_device(const char* point) {
  return std::strncmp(point, "/dev", 4) == 0 && std::strcmp(point, "/dev/pts") != 0 &&
         std::strcmp(point, "/dev/shm") != 0;
}

constexpr Attempt kAttempts[] = {
    {"find_mount_with_setuid", [] { return find_mount(is_any, "nosuid"); }},
    {"find_writable_dev", [] { return find_mount(is_device, "ro"); }},
    {"mount_tmpfs", [] { return mount_type("tmpfs"); }},
    {"mount_proc", [] { return mount_type("proc"); }},
    {"mount_sysfs", [] { return mount_type("sysfs"); }},
    {"mount_devpts", [] { return mount_type("devpts"); }},
    {"mount_mqueue", [] { return mount_type("mqueue"); }},
    {"mount_cgroup_v1", [] { return mount_type("cgroup", "memory"); }},
    {"mount_cgroup_v2", [] { return mount_type("cgroup2"); }},
    {"mount_debugfs", [] { return mount_type("debugfs"); }},
    {"mount_overlay", [] { return mount_type("overlay", "lowerdir=/etc:/usr"); }},
    {"mount_disk", [] { return call(::mount("/dev/vda", "/mnt", "ext4", 0, nullptr)); }},
    {"bind_mount", [] { return call(::mount("/proc", "/mnt", nullptr, MS_BIND, nullptr)); }},
    {"share_mounts", [] { return call(::mount(nullptr, "/", nullptr, MS_REC | MS_SHARED, nullptr)); }},
    {"remount_proc_sys", [] { return call(::mount(nullptr, "/proc/sys", nullptr, MS_REMOUNT | MS_BIND, nullptr)); }},
    {"remount_dev", [] { return call(::mount(nullptr, "/dev", nullptr, MS_REMOUNT | MS_BIND, nullptr)); }},
    {"unmount_proc_sys", [] { return call(::umount2("/proc/sys", kDetach)); }},
    {"unmount_mask", [] { return call(::umount2("/proc/keys", kDetach)); }},
    {"unmount_usr", [] { return call(::umount2("/usr", kDetach)); }},
    {"unmount_root", [] { return call(::umount2("/", kDetach)); }},
    {"pivot_root", [] { return call(::syscall(SYS_pivot_root, "/mnt", "/mnt")); }},
    {"move_mount", [] { return call(::syscall(SYS_move_mount, AT_FDCWD, "/proc/sys", AT_FDCWD, "/mnt", 0)); }},
    {"open_tree", [] { return call(::syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE)); }},
    {"fsopen", [] { return call(::syscall(SYS_fsopen, "tmpfs", 0)); }},
    {"fsconfig", [] { return call(::syscall(SYS_fsconfig, 0, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0)); }},
    {"fsmount", [] { return call(::syscall(SYS_fsmount, 0, 0, 0)); }},
    {"fspick", [] { return call(::syscall(SYS_fspick, AT_FDCWD, "/", 0)); }},
    {"mount_setattr", make_writable},
    {"listmount", list_mounts},
    {"statmount", state_mount},
    {"double_chroot", double_chroot},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
