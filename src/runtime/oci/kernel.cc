// gVisor: the programs run in a kernel of their own, which accepts descriptors of the host but never returns any. So
// there are two process 1: one on the host's kernel, which keeps the streams, serves files and accepts servers, and one
// inside, which starts the programs.
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "base/text.h"
#include "net/link.h"
#include "runtime/native/root_mounts.h"
#include "runtime/oci/builder.h"
#include "runtime/oci/bundle.h"
#include "runtime/oci/invocation.h"
#include "sys/beneath.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove::oci {
namespace {

Words command_line(const native::SpawnPlan& plan) {
  const std::string folder = kBundle;
  return {plan.oci->program,
          "--root",
          folder + "/state",
          "--platform",
          "ptrace",
          "--network",
          plan.oci->network ? "sandbox" : "none",
          "--ignore-cgroups",
          "--file-access",
          "shared",
          "run",
          "--detach",
          "--bundle",
          folder,
          plan.id};
}

// gVisor has devices of its own; the folder contains its process 1 instead.
void make_room_in_dev() {
  const std::string dev = concat(std::string_view(native::kStagedRoot), "/dev");
  bool made = ::mount("tmpfs", dev.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=16k,mode=755") == 0 &&
              ::mkdir(concat(std::string_view(native::kStagedRoot), kInitFolder).c_str(), 0755) == 0;
  if (!made) ::_exit(126);
}

// runsc until July 2024 takes a network namespace for that of the machine if /proc/sys/net/core/dev_weight exists, as
// it does in every namespace of newer kernels. Its processes mount /proc themselves, which the kernel allows only where
// there is one that nothing covers.
bool cover_net_sysctls() {
  const std::string uncovered = concat(std::string_view(kBundle), "/proc");
  return ::mkdir(uncovered.c_str(), 0700) == 0 &&
         ::mount("proc", uncovered.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
         ::mount("tmpfs", "/proc/sys/net", "tmpfs", MS_NOSUID | MS_NODEV, "size=16k,mode=755") == 0;
}

// Leaves the runtime in a network namespace that is linked to the other one.
void enter_linked_network(int other) {
  Result<void> linked = sys::unshare(CLONE_NEWNET);
  if (linked) linked = net::link_to(other);
  if (!linked || !cover_net_sysctls()) ::_exit(126);
}

constexpr const char* kPrograms[] = {"cove-init", "cove-stat.so"};

Result<void> show_programs(const std::vector<UniqueFd>& programs) {
  COVE_TRY(sys::mkdir(kInitSource, 0755));
  for (size_t i = 0; i < programs.size(); ++i) {
    const std::string place = concat(std::string_view(kInitSource), "/", std::string_view(kPrograms[i]));
    COVE_TRY(sys::write_file(place, ""));
    COVE_TRY(sys::attach_mount(programs[i].get(), AT_FDCWD, place));
  }
  return {};
}

// The runtime would follow a link that a program inside has placed there before the sandbox was stopped, and resolve it
// outside the sandbox's root. So it gets a mount of the folder itself, or of an empty one if the folder was removed.
Result<void> show_tmp() {
  COVE_TRY(sys::mkdir(kTmpSource, 0755));
  UniqueFd root = COVE_TRY(sys::open(native::kStagedRoot, O_PATH | O_DIRECTORY));
  Result<UniqueFd> tmp = sys::open_folder_beneath(root.get(), "tmp");
  if (!tmp) return {};
  UniqueFd tree = COVE_TRY(sys::open_tree_clone(tmp->get(), "", sys::Subtree::One));
  return sys::attach_mount(tree.get(), AT_FDCWD, kTmpSource);
}

}  // namespace

Result<std::vector<UniqueFd>> open_programs(const std::string& init) {
  const std::string folder = init.substr(0, init.rfind('/') + 1);
  std::vector<UniqueFd> programs;
  for (const char* name : kPrograms) {
    UniqueFd tree = COVE_TRY(sys::open_tree_clone(AT_FDCWD, folder + name, sys::Subtree::One));
    COVE_TRY(
        sys::mount_setattr(tree.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, sys::Subtree::One));
    programs.push_back(std::move(tree));
  }
  return programs;
}

Result<void> start_kernel(const native::SpawnPlan& plan, const std::vector<UniqueFd>& programs, int channel,
                          int network) {
  COVE_TRY_NOTE("write the bundle", write_bundle(kernel_config(plan)));
  COVE_TRY_NOTE("mount cove-init for gVisor", show_programs(programs));
  COVE_TRY_NOTE("mount /tmp for gVisor", show_tmp());
  Invocation call{plan.oci->runtime, command_line(plan)};
  call.input = channel;
  for (const UniqueFd& fd : plan.oci->join_fds) call.join_fds.push_back(fd.get());
  call.prepare = [network] {
    make_room_in_dev();
    if (network >= 0) enter_linked_network(network);
  };
  return invoke(call);
}

}  // namespace cove::oci
