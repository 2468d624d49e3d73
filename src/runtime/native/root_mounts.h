#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/native/group_view.h"
#include "runtime/native/own_folders.h"
#include "runtime/native/spawn_plan.h"

namespace cove::native {

// Builds the sandbox's file systems in the builder's own mount namespace, by descriptor, in named steps.
//
//   RootMounts mounts(plan);
//   mounts.open_sources()          copies everything that comes from the host, before anything is covered
//   mounts.stage(user_namespace)   the writable layer and the mapped copies, at a private place
//   mounts.assemble()              /, /usr, /opt, /dev, the workspace, at kStagedRoot
//   mounts.mount_sys(groups)       /sys, with the sandbox's own control groups
//   mounts.show_processes(pid_namespace)   /proc, and what covers parts of it
//   mounts.enter()                 pivot_root; nothing of the host remains
//
// An OCI runtime performs the last two steps itself.

// Where it is staged, visible only in the builder's mount namespace.
inline constexpr const char* kStage = "/tmp";
inline constexpr const char* kStagedRoot = "/tmp/root";
inline constexpr const char* kMeminfo = "/tmp/meminfo";  // with a memory limit: the file that replaces /proc/meminfo

class RootMounts {
 public:
  explicit RootMounts(const SpawnPlan& plan) : plan_(plan) {}

  Result<void> open_sources();
  Result<void> stage(int user_namespace);
  Result<void> assemble();
  Result<void> mount_sys(const std::vector<GroupView>& groups);
  Result<void> show_processes(int pid_namespace);
  Result<void> enter();

 private:
  struct Lower {
    UniqueFd tree;
    std::string path;  // set once it is staged
  };
  struct Part {
    const ImageMount* image;
    std::vector<Lower> lowers;
  };

  Result<void> open_binds();
  Result<void> attach_binds();
  Result<void> open_devices();
  Result<void> open_workspace();
  Result<UniqueFd> copy_workspace(const OwnFolders& own);
  Result<UniqueFd> copy_tree(int folder);
  Result<void> map_owner(int mount);
  Result<void> stage_repository();
  Result<void> show_repository();
  Result<bool> make_overlay_folders(const std::string& name);
  Result<void> make_review_layer();
  Result<void> forget_volatile(const std::string& work);
  Result<void> stage_review();
  Result<void> stage_layer(int user_namespace);
  Result<void> stage_lowers(int user_namespace);
  static std::vector<std::string> lower_paths(const Part& part);
  Result<void> stage_shielded(Part& part, size_t index);
  Result<void> mount_part(const Part& part);
  Result<UniqueFd> mount_overlay(const std::vector<std::string>& lowers, const std::string& name);
  Result<void> mount_dev();
  Result<void> mount_proc(int pid_namespace);
  Result<void> mount_proc_from_inside(int pid_namespace);
  Result<void> mask_proc();
  Result<void> write_meminfo();
  Result<void> cover_meminfo();
  Result<void> keep_whole_proc();
  Result<void> attach(int mount, const std::string& path);
  Result<UniqueFd> copy_of(const std::string& path);
  Result<void> cover(const std::string& source, const std::string& path, uint64_t attributes);
  Result<void> attach_workspace();
  Result<void> hide_own_folders();
  Result<void> file_rights_of(uint32_t inside);
  Result<void> own_file_rights();
  bool shields(const Part& part) const;
  bool maps_ids() const;
  Result<void> write_hosts();
  int layer_folder() const { return layer_ ? layer_.get() : stage_.get(); }

  const SpawnPlan& plan_;
  std::vector<Part> parts_;
  std::vector<std::pair<UniqueFd, std::string>> binds_;
  UniqueFd dev_;
  std::vector<UniqueFd> devices_;  // placeholders' sources, in the order of kDevices
  UniqueFd zero_;                  // replaces /dev/zero
  UniqueFd layer_;                 // if the layer is a folder or a subvolume
  UniqueFd workspace_;
  UniqueFd repository_;  // if the workspace is a linked git worktree
  std::string worktree_;
  std::vector<std::string> hidden_;  // paths below the workspace to cover
  UniqueFd stage_;
  std::string layer_path_;
  UniqueFd root_;
  UniqueFd sys_;
};

}  // namespace cove::native
