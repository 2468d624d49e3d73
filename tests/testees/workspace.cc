// Attempts by way of the user's folder: to write where it is shown read-only, or to get out of it.
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "testee.h"

extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*);

namespace {

using namespace testee;

constexpr const char* kPlain = "/workspace/plain";
constexpr unsigned long kRemountBind = 32 | 4096;

Outcome create(const char* path) { return call(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)); }

Outcome climb() {
  struct stat root, reached;
  if (::stat("/", &root) < 0 || ::stat("/workspace/..", &reached) < 0) return denied();
  return root.st_ino == reached.st_ino && root.st_dev == reached.st_dev ? held("the sandbox's root") : done();
}

Outcome climb_by_descriptor() {
  struct stat root, reached;
  int folder = ::open("/workspace", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 32 && folder >= 0; ++i) folder = ::openat(folder, "..", O_RDONLY | O_DIRECTORY);
  if (folder < 0 || ::stat("/", &root) < 0 || ::fstat(folder, &reached) < 0) return denied();
  return root.st_ino == reached.st_ino && root.st_dev == reached.st_dev ? held("the sandbox's root") : done();
}

// A program of root's on the host, with the setuid bit.
Outcome run_setuid() {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::execl("/workspace/setuid", "setuid", "gained", nullptr);
    ::_exit(98);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 98) return denied(EACCES);
  return WEXITSTATUS(status) == 0 ? held("gained nothing") : done("gained privileges");
}

// A program that has every capability, for whoever executes it.
constexpr vfs_cap_data kAllCapabilities = {VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, {{~0u, 0}, {~0u, 0}}};
// u::rwx, u:0:rwx, g::---, m::rwx, o::---
constexpr unsigned char kAccessList[] = {2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
                                         0, 0, 0,   0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
                                         7, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};

Outcome set_by_descriptor() {
  int file = ::open(kPlain, O_RDONLY | O_CLOEXEC);
  if (file < 0) return denied();
  return call(::fsetxattr(file, "security.capability", &kAllCapabilities, sizeof kAllCapabilities, 0));
}

constexpr Attempt kAttempts[] = {
    {"set_capability",
     [] { return call(::setxattr(kPlain, "security.capability", &kAllCapabilities, sizeof kAllCapabilities, 0)); }},
    {"set_capability_by_descriptor", set_by_descriptor},
    {"set_access_list",
     [] { return call(::lsetxattr(kPlain, "system.posix_acl_access", kAccessList, sizeof kAccessList, 0)); }},
    {"set_default_list",
     [] { return call(::setxattr("/workspace", "system.posix_acl_default", kAccessList, sizeof kAccessList, 0)); }},
    {"write", [] { return write_to(kPlain, kMark); }},
    {"truncate", [] { return call(::truncate(kPlain, 0)); }},
    {"create", [] { return create("/workspace/cove-testee"); }},
    {"make_folder", [] { return call(::mkdir("/workspace/folder", 0755)); }},
    {"make_link", [] { return call(::symlink("/etc/passwd", "/workspace/made-link")); }},
    {"remove", [] { return call(::unlink(kPlain)); }},
    {"rename", [] { return call(::rename(kPlain, "/workspace/renamed")); }},
    {"replace", [] { return call(::rename("/workspace/link-out", kPlain)); }},
    {"change_mode", [] { return call(::chmod(kPlain, 0777)); }},
    {"change_owner", [] { return call(::chown(kPlain, 0, 0)); }},
    {"change_times", [] { return call(::utimensat(AT_FDCWD, kPlain, nullptr, 0)); }},
    {"change_attributes", [] { return call(::setxattr(kPlain, "user.x", "x", 1, 0)); }},
    {"remount", [] { return call(::mount(nullptr, "/workspace", nullptr, kRemountBind, nullptr)); }},
    {"write_by_proc", [] { return write_to("/proc/self/root/workspace/plain", kMark); }},
    {"hard_link_out", [] { return call(::link(kPlain, "/tmp/plain")); }},
    {"make_device", [] { return call(::mknod("/workspace/made-node", S_IFCHR | 0666, makedev(1, 1))); }},
    {"open_device", [] { return read_from("/workspace/node"); }},
    {"others_file", [] { return read_from("/workspace/others"); }},
    {"link_out", [] { return read_from("/workspace/link-out"); }},
    {"link_up", [] { return read_from("/workspace/link-up"); }},
    {"link_to_root", [] { return read_from("/workspace/link-root/etc/shadow"); }},
    {"climb", climb},
    {"climb_by_descriptor", climb_by_descriptor},
    {"run_setuid", run_setuid},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
