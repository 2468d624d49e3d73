#include "sys/mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "sys/file.h"

// <sys/mount.h> and <linux/mount.h> of this libc collide, so the two old calls are made by number.
namespace cove::sys {
namespace {

constexpr unsigned long kMsRec = 16384;
constexpr unsigned long kMsPrivate = 1 << 18;
constexpr int kMntDetach = 2;

// The kernel's messages in the context's log, which say more than an errno.
std::string context_log(int context) {
  char line[256];
  std::string log;
  ssize_t size;
  while ((size = ::read(context, line, sizeof line)) > 0) {
    std::string_view text(line, static_cast<size_t>(size));
    if (text.size() > 2 && text[1] == ' ') text.remove_prefix(2);
    log = concat(log, log.empty() ? " (" : "; ", trim(text));
  }
  return log.empty() ? log : log + ")";
}

}  // namespace

Result<UniqueFd> open_tree_clone(int folder, const std::string& path, Subtree subtree) {
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
  if (path.empty()) flags |= AT_EMPTY_PATH;
  if (subtree == Subtree::Recursive) flags |= AT_RECURSIVE;
  UniqueFd tree(static_cast<int>(::syscall(SYS_open_tree, folder, path.c_str(), flags)));
  if (!tree) return fail_errno(concat("open_tree ", path.empty() ? fd_path(folder) : path));
  struct mount_attr attr = {};
  attr.propagation = MS_PRIVATE;
  if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | (flags & AT_RECURSIVE), &attr, sizeof attr) < 0)
    return fail_errno(concat("keep the copy of ", path, " apart from what it is a copy of"));
  return tree;
}

Result<void> mount_setattr(int mount, uint64_t attributes, Subtree subtree, int id_map) {
  struct mount_attr attr = {};
  attr.attr_set = attributes;
  if (id_map >= 0) {
    attr.attr_set |= MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<uint64_t>(id_map);
  }
  unsigned flags = AT_EMPTY_PATH | (subtree == Subtree::Recursive ? AT_RECURSIVE : 0u);
  if (::syscall(SYS_mount_setattr, mount, "", flags, &attr, sizeof attr) < 0)
    return fail_errno(id_map >= 0 ? "mount_setattr (idmap)" : "mount_setattr");
  return {};
}

Result<UniqueFd> make_mount(const std::string& type, const MountOptions& options, uint64_t attributes) {
  UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, type.c_str(), FSOPEN_CLOEXEC)));
  if (!context) return fail_errno(concat("fsopen ", type));
  for (const auto& [key, value] : options) {
    unsigned command = value.empty() ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    const char* argument = value.empty() ? nullptr : value.c_str();
    if (::syscall(SYS_fsconfig, context.get(), command, key.c_str(), argument, 0) < 0) {
      Error error = Error::from_errno(errno, concat("set ", key, "=", value, " of ", type));
      std::string log = context_log(context.get());
      return fail(log.empty() ? std::move(error) : std::move(error).note(log));
    }
  }
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) < 0) {
    int errnum = errno;
    return fail(Error::from_errno(errnum, concat("create ", type, context_log(context.get()))));
  }
  long mount = ::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, attributes);
  if (mount < 0) return fail_errno(concat("fsmount ", type));
  return UniqueFd(static_cast<int>(mount));
}

bool can_make_mounts_of(const std::string& type) {
  return UniqueFd(static_cast<int>(::syscall(SYS_fsopen, type.c_str(), FSOPEN_CLOEXEC))).valid();
}

Result<void> attach_mount(int mount, int folder, const std::string& path) {
  unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (path.empty() ? MOVE_MOUNT_T_EMPTY_PATH : 0u);
  if (::syscall(SYS_move_mount, mount, "", folder, path.c_str(), flags) < 0)
    return fail_errno(concat("move_mount to ", path.empty() ? fd_path(folder) : path));
  return {};
}

Result<void> make_mounts_private() {
  if (::syscall(SYS_mount, nullptr, "/", nullptr, kMsRec | kMsPrivate, nullptr) < 0)
    return fail_errno("make all mounts private");
  return {};
}

Result<void> pivot_root(int new_root) {
  if (::fchdir(new_root) < 0) return fail_errno("fchdir to the new root");
  if (::syscall(SYS_pivot_root, ".", ".") < 0) return fail_errno("pivot_root");
  if (::syscall(SYS_umount2, ".", kMntDetach) < 0) return fail_errno("detach the old root");
  if (::chdir("/") < 0) return fail_errno("chdir to the new root");
  return {};
}

}  // namespace cove::sys
