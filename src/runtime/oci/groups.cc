#include "runtime/oci/groups.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "sys/cgroup_mounts.h"
#include "sys/file.h"
#include "sys/mount.h"

namespace cove::oci {
namespace {

constexpr const char* kTop = "/sys/fs/cgroup";

// The mount of the hierarchy in which runtimes create their groups: that of the v1 devices controller, otherwise v2.
Result<sys::CgroupMount> find_hierarchy() {
  std::vector<sys::CgroupMount> mounts = sys::parse_cgroup_mounts(COVE_TRY(sys::read_file("/proc/self/mountinfo")));
  auto devices = std::ranges::find_if(mounts, [](const sys::CgroupMount& mount) {
    return mount.version == 1 && sys::has_builder_message(mount.controllers, "devices", ',');
  });
  if (devices != mounts.end()) return *devices;
  auto unified = std::ranges::find_if(mounts, [](const sys::CgroupMount& mount) { return mount.version == 2; });
  if (unified != mounts.end()) return *unified;
  return fail(Code::NotFound, "no control groups are mounted");
}

}  // namespace

std::vector<std::string> list_groups(const std::string& prefix) {
  std::vector<std::string> found;
  Result<sys::CgroupMount> hierarchy = find_hierarchy();
  if (!hierarchy) return found;
  for (std::string& name : sys::list_folder(hierarchy->point).value_or(std::vector<std::string>()))
    if (name.starts_with(prefix)) found.push_back(std::move(name));
  std::ranges::sort(found);
  return found;
}

void remove_group(const std::string& name) {
  Result<sys::CgroupMount> hierarchy = find_hierarchy();
  if (name.empty() || !hierarchy) return;
  const std::string folder = concat(hierarchy->point, "/", name);
  // A process is reported as ended slightly before its group is empty.
  constexpr int kTries = 50;
  constexpr unsigned kPause = 1000;  // microseconds
  for (int i = 0; i < kTries && ::rmdir(folder.c_str()) < 0 && errno == EBUSY; ++i) ::usleep(kPause);
}

// All of this happens in this process's own mount namespace with private mounts: the machine's are not affected.
Result<void> show_one_hierarchy() {
  Result<sys::CgroupMount> shown = find_hierarchy();
  if (!shown || shown->version == 2) return {};
  UniqueFd devices = COVE_TRY(sys::open_tree_clone(AT_FDCWD, shown->point, sys::Subtree::One));
  // Unmounted instead of covered, because covered ones are still in the list of mounts.
  for (const sys::CgroupMount& mount : sys::parse_cgroup_mounts(COVE_TRY(sys::read_file("/proc/self/mountinfo"))))
    if (::umount2(mount.point.c_str(), MNT_DETACH) < 0 && errno != EINVAL && errno != ENOENT)
      return fail_errno(concat("unmount ", mount.point));
  UniqueFd top =
      COVE_TRY(sys::make_mount("tmpfs", {{"size", "64k"}, {"mode", "0755"}}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  COVE_TRY(sys::attach_mount(top.get(), AT_FDCWD, kTop));
  std::string folder = concat(std::string_view(kTop), "/devices");
  COVE_TRY(sys::mkdir(folder, 0755));
  return sys::attach_mount(devices.get(), AT_FDCWD, folder);
}

}  // namespace cove::oci
