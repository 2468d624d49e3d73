// The files in which programs in a sandbox read their limits.
#include <fcntl.h>
#include <linux/mount.h>

#include "base/text.h"
#include "runtime/native/root_mounts.h"
#include "sys/file.h"
#include "sys/mount.h"

namespace cove::native {
namespace {

constexpr uint64_t kInert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr const char* kGroups = "fs/cgroup";
constexpr const char* kClosed = ".closed";
constexpr const char* kWholeProc = ".closed/proc";

std::string memory_text(uint64_t bytes) {
  const uint64_t kib = bytes / 1024;
  std::string text;
  auto line = [&](std::string_view name, uint64_t value) { text += concat(name, ": ", value, " kB\n"); };
  for (const char* name : {"MemTotal", "MemFree", "MemAvailable"}) line(name, kib);
  for (const char* name : {"Buffers", "Cached", "SwapCached", "SwapTotal", "SwapFree", "Shmem", "SReclaimable"})
    line(name, 0);
  return text;
}

}  // namespace

// Shows nothing of the machine: a file system in memory with the sandbox's own control groups.
Result<void> RootMounts::mount_sys(const std::vector<GroupView>& groups) {
  if (groups.empty() && !plan_.nesting) return {};
  sys_ = COVE_TRY(sys::make_mount("tmpfs", {{"size", "64k"}, {"nr_inodes", "64"}, {"mode", "0755"}}, kInert));
  for (const char* folder : {"fs", kGroups}) COVE_TRY(sys::mkdirat(sys_.get(), folder, 0755));
  COVE_TRY(sys::mkdirat(sys_.get(), kClosed, 0));
  COVE_TRY(sys::mkdirat(sys_.get(), kWholeProc, 0));
  for (const GroupView& group : groups)
    if (!group.name.empty()) COVE_TRY(sys::mkdirat(sys_.get(), concat(kGroups, "/", group.name), 0755));
  COVE_TRY(attach(sys_.get(), "sys"));
  for (const GroupView& group : groups) {
    COVE_TRY(sys::mount_setattr(group.tree.get(), kInert | MOUNT_ATTR_RDONLY, sys::Subtree::One));
    COVE_TRY(sys::attach_mount(group.tree.get(), sys_.get(), concat(kGroups, "/", group.name)));
  }
  COVE_TRY_NOTE("keep an uncovered /proc", keep_whole_proc());
  return sys::mount_setattr(sys_.get(), kInert | MOUNT_ATTR_RDONLY, sys::Subtree::One);
}

Result<void> RootMounts::write_meminfo() {
  if (plan_.memory == 0) return {};
  return sys::write_file(kMeminfo, memory_text(plan_.memory));
}

Result<void> RootMounts::cover_meminfo() {
  if (plan_.memory == 0) return {};
  UniqueFd file = COVE_TRY(sys::open_tree_clone(AT_FDCWD, kMeminfo, sys::Subtree::One));
  COVE_TRY(sys::mount_setattr(file.get(), kInert | MOUNT_ATTR_RDONLY, sys::Subtree::One));
  return attach(file.get(), "proc/meminfo");
}

// A /proc can be mounted inside only if an uncovered one is already mounted; an inaccessible folder holds it.
Result<void> RootMounts::keep_whole_proc() {
  if (!plan_.nesting) return {};
  UniqueFd proc = COVE_TRY(copy_of("proc"));
  return sys::attach_mount(proc.get(), sys_.get(), kWholeProc);
}

}  // namespace cove::native
