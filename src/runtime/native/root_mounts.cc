#include "runtime/native/root_mounts.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "runtime/native/linked_worktree.h"
#include "runtime/native/proc_masks.h"
#include "runtime/native/same_folder.h"
#include "sys/beneath.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/overlay.h"
#include "sys/process.h"

namespace cove::native {
namespace {

using sys::MountOptions;
using sys::Subtree;

constexpr const char* kReviewName = "workspace";
constexpr const char* kPointerName = "git-pointer";
constexpr const char* kEmptyFolder = "dev/mqueue";  // in the image, read-only
constexpr uint64_t kSafe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
// Devices stay writable.
constexpr uint64_t kDevice = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
// An unused id: root inside cannot read files of the host that this id may not read.
constexpr uint32_t kUnusedId = sys::kIdsPerSandbox - 1;
constexpr uint32_t kTtyGroup = 5;
constexpr unsigned kTerminals = 64;  // all sandboxes share the kernel's limit

std::string part_name(const ImageMount& mount) {
  std::string name = mount.target.empty() ? "root" : mount.target;
  for (char& c : name)
    if (c == '/') c = '-';
  return name;
}

// Changing the file ids drops the effective capabilities over files; they are still permitted.
Result<void> raise_capabilities() {
  sys::Capabilities sets = COVE_TRY(sys::capget());
  sets.effective = sets.permitted;
  return sys::capset(sets);
}

// An overlay may be mounted read-only without an error; then the layer is not writable.
Result<void> check_writable(int mount, const std::string& name) {
  struct statvfs info;
  if (::fstatvfs(mount, &info) < 0) return fail_errno(concat("statvfs ", name));
  if (info.f_flag & ST_RDONLY) return fail(Code::Internal, concat("the overlay on ", name, " was mounted read-only"));
  return {};
}

}  // namespace

// With only one mapped id there is no unrelated user; without mapped ids, the host's root is one; and overlays can be
// stacked only two deep.
bool RootMounts::shields(const Part& part) const {
  if (!part.image->foreign || plan_.ids.single_id || plan_.ids.shared) return false;
  struct statfs info;
  return ::fstatfs(part.lowers.back().tree.get(), &info) < 0 || info.f_type != OVERLAYFS_SUPER_MAGIC;
}

bool RootMounts::maps_ids() const { return !plan_.ids.rootless && !plan_.ids.shared; }

// Takes the file rights of an id inside, and drops the capabilities over files.
Result<void> RootMounts::file_rights_of(uint32_t inside) {
  uint32_t id = plan_.ids.builder_id(inside);
  return sys::set_fs_ids(id, id);
}

Result<void> RootMounts::own_file_rights() {
  COVE_TRY(sys::set_fs_ids(0, 0));
  return raise_capabilities();
}

Result<void> RootMounts::open_sources() {
  for (const ImageMount& mount : plan_.image.mounts) {
    Part part{&mount, {}};
    for (const std::string& lower : mount.lowers)
      part.lowers.push_back({COVE_TRY(sys::open_tree_clone(AT_FDCWD, lower, Subtree::One)), {}});
    parts_.push_back(std::move(part));
  }
  if (plan_.layer.kind == LayerKind::Folder)
    layer_ = COVE_TRY(sys::open_tree_clone(AT_FDCWD, plan_.layer.folder, Subtree::One));
  if (plan_.layer.kind == LayerKind::Pool) layer_ = COVE_TRY(sys::dup(plan_.layer.mount));
  COVE_TRY(open_binds());
  COVE_TRY(open_devices());
  return open_workspace();
}

// Their owners are not mapped: for root inside they belong to another user, and only their permissions for others
// apply.
Result<void> RootMounts::open_binds() {
  for (const ImageBind& bind : plan_.image.binds) {
    Result<UniqueFd> tree = sys::open_tree_clone(AT_FDCWD, bind.source, Subtree::One);
    if (!tree && tree.error().errnum() == ENOENT) continue;  // it was removed after the image was built
    if (!tree) return std::unexpected(tree.error());
    COVE_TRY(sys::mount_setattr(tree->get(), MOUNT_ATTR_RDONLY | kSafe, Subtree::One));
    binds_.emplace_back(std::move(*tree), bind.target);
  }
  return {};
}

Result<void> RootMounts::attach_binds() {
  for (const auto& [tree, target] : binds_) {
    Result<void> attached = attach(tree.get(), target);
    // The sandbox removed or replaced the mount point before it was stopped.
    const int errnum = attached ? 0 : attached.error().errnum();
    if (errnum == ENOENT || errnum == ENOTDIR || errnum == ELOOP) continue;
    COVE_TRY(attached);
  }
  return {};
}

Result<void> RootMounts::open_devices() {
  dev_ = COVE_TRY(sys::open_tree_clone(AT_FDCWD, plan_.image.dev, Subtree::One));
  // Both read as zeros, but /dev/zero can be mapped as shared memory, which the watcher cannot measure.
  if (plan_.watched_memory > 0) {
    zero_ = COVE_TRY(sys::open_tree_clone(AT_FDCWD, "/dev/full", Subtree::One));
    COVE_TRY(sys::mount_setattr(zero_.get(), kDevice, Subtree::One));
  }
  if (plan_.image.dev_nodes == DevNodes::Real) return {};
  for (const char* name : kDevices)
    devices_.push_back(COVE_TRY(sys::open_tree_clone(AT_FDCWD, concat("/dev/", name), Subtree::One)));
  for (const UniqueFd& device : devices_) COVE_TRY(sys::mount_setattr(device.get(), kDevice, Subtree::One));
  return {};
}

Result<void> RootMounts::open_workspace() {
  if (plan_.workspace.access == Access::None) return {};
  OwnFolders own = COVE_TRY_NOTE("find Cove's own folders", OwnFolders::look(plan_.own_folders));
  workspace_ = plan_.workspace.mount >= 0 ? COVE_TRY(sys::dup(plan_.workspace.mount)) : COVE_TRY(copy_workspace(own));
  if (plan_.workspace.access == Access::ReadOnly) hidden_ = COVE_TRY(own.find_in(workspace_.get()));
  if (plan_.workspace.repository >= 0) {
    repository_ = COVE_TRY(sys::dup(plan_.workspace.repository));
    worktree_ = plan_.workspace.worktree;
  }
  if (repository_ && !COVE_TRY(own.find_in(repository_.get())).empty()) repository_.reset();
  return {};
}

// Mounts below the folder are left out; an ordinary user cannot separate them and gets all of them.
Result<UniqueFd> RootMounts::copy_tree(int folder) {
  Result<UniqueFd> tree = sys::open_tree_clone(folder, "", Subtree::One);
  if (!tree && plan_.ids.rootless) tree = sys::open_tree_clone(folder, "", Subtree::Recursive);
  return tree;
}

Result<UniqueFd> RootMounts::copy_workspace(const OwnFolders& own) {
  UniqueFd folder = COVE_TRY_NOTE("open workspace", sys::open(plan_.workspace.path, O_PATH | O_DIRECTORY));
  COVE_TRY(own.check(folder.get(), plan_.workspace));
  if (!is_same_folder(folder.get(), plan_.workspace.device, plan_.workspace.inode))
    return fail(Code::Unavailable, concat(plan_.workspace.path, " was replaced by another folder"));
  if (std::optional<LinkedWorktree> linked = find_linked_worktree(folder.get())) {
    repository_ = COVE_TRY_NOTE("open the repository of the workspace", copy_tree(linked->repository.get()));
    worktree_ = linked->name;
  }
  return COVE_TRY_NOTE(concat("open workspace ", plan_.workspace.path), copy_tree(folder.get()));
}

Result<void> RootMounts::stage(int user_namespace) {
  const bool memory = plan_.layer.kind == LayerKind::Memory;
  uint64_t bytes = memory ? plan_.layer.bytes : 1 << 20;
  // Some extra inodes, because the stage itself needs a few.
  uint64_t inodes = (memory ? plan_.layer.inodes : 256) + 64;
  for (const Part& part : parts_) inodes += part.lowers.size();
  uint32_t owner = plan_.ids.builder_id(0);
  MountOptions options = {{"size", std::to_string(bytes)},
                          {"nr_inodes", std::to_string(inodes)},
                          {"mode", "0755"},
                          {"uid", std::to_string(owner)},
                          {"gid", std::to_string(owner)}};
  stage_ = COVE_TRY(sys::make_mount("tmpfs", options, kSafe));
  COVE_TRY(sys::attach_mount(stage_.get(), AT_FDCWD, kStage));
  COVE_TRY(write_meminfo());
  COVE_TRY(file_rights_of(0));
  Result<void> made = stage_layer(user_namespace);
  COVE_TRY(own_file_rights());
  if (!made) return made;
  COVE_TRY_NOTE("stage the image", stage_lowers(user_namespace));
  if (!workspace_) return {};
  COVE_TRY_NOTE("map the workspace's owner", map_owner(workspace_.get()));
  COVE_TRY(stage_repository());
  uint64_t attributes = kSafe | (plan_.workspace.access == Access::ReadWrite ? 0 : MOUNT_ATTR_RDONLY);
  COVE_TRY(sys::mount_setattr(workspace_.get(), attributes, Subtree::Recursive));
  return plan_.workspace.access == Access::Review ? stage_review() : Result<void>();
}

Result<void> RootMounts::stage_review() {
  std::string path = concat(kStage, "/", kReviewName);
  COVE_TRY(sys::mkdir(path, 0755));
  return sys::attach_mount(workspace_.get(), AT_FDCWD, path);
}

Result<void> RootMounts::stage_layer(int user_namespace) {
  layer_path_ = kStage;
  if (plan_.layer.kind != LayerKind::Memory) {
    layer_path_ = concat(kStage, "/layer");
    COVE_TRY(sys::mkdir(layer_path_, 0755));
    COVE_TRY(own_file_rights());
    COVE_TRY(sys::mount_setattr(layer_.get(), kSafe, Subtree::One, plan_.ids.rootless ? -1 : user_namespace));
    COVE_TRY(sys::attach_mount(layer_.get(), AT_FDCWD, layer_path_));
    // For root the mount is id-mapped; rootless, the folder itself is given to the sandbox's root.
    uint32_t owner = plan_.ids.builder_id(0);
    if (plan_.ids.rootless && ::fchownat(layer_.get(), "", owner, owner, AT_EMPTY_PATH) < 0)
      return fail_errno("chown the layer");
    COVE_TRY(file_rights_of(0));
  }
  bool new_root = false;
  for (const Part& part : parts_) {
    const bool made = COVE_TRY_NOTE("create the layer", make_overlay_folders(part_name(*part.image)));
    if (part.image->target.empty()) new_root = made;
  }
  COVE_TRY(make_review_layer());
  return new_root ? write_hosts() : Result<void>();
}

// Creates the upper and work folders of an overlay; true if they are new. The contents of older ones are untrusted: a
// program inside decides the names, links and types of the files in them.
Result<bool> RootMounts::make_overlay_folders(const std::string& name) {
  Result<void> work = sys::mkdirat(layer_folder(), name + ".work", 0755);
  if (!work && work.error().code() != Code::Exists) return std::unexpected(work.error());
  if (!work) COVE_TRY(forget_volatile(name + ".work"));
  Result<void> upper = sys::mkdirat(layer_folder(), name + ".upper", 0755);
  if (!upper && upper.error().code() != Code::Exists) return std::unexpected(upper.error());
  return upper.has_value();
}

// A volatile overlay leaves a mark and is not mounted again while the mark exists. It can be removed: the layer's own
// file system is always consistent, so that a power cut only loses the last seconds.
Result<void> RootMounts::forget_volatile(const std::string& work) {
  COVE_TRY(raise_capabilities());  // the folders of overlayfs have no permissions for anyone
  for (const char* name : {"/work/incompat/volatile/dirty", "/work/incompat/volatile", "/work/incompat"}) {
    Result<void> removed = sys::remove_beneath(layer_folder(), work + name);
    if (!removed && removed.error().code() != Code::NotFound) return removed;
  }
  COVE_TRY(own_file_rights());
  return file_rights_of(0);
}

// The layer of a reviewed folder starts with the folder's own owner and mode.
Result<void> RootMounts::make_review_layer() {
  if (plan_.workspace.access != Access::Review) return {};
  struct stat info = COVE_TRY(sys::fstat(workspace_.get()));
  if (!COVE_TRY_NOTE("create the layer of the workspace", make_overlay_folders(kReviewName))) return {};
  uint32_t owner = plan_.ids.builder_id(plan_.workspace_owner);
  COVE_TRY(own_file_rights());
  UniqueFd upper =
      COVE_TRY(sys::open_folder_beneath(layer_folder(), concat(std::string_view(kReviewName), ".upper"), O_RDONLY));
  bool given = plan_.ids.single_id || ::fchown(upper.get(), owner, owner) == 0;
  if (!given || ::fchmod(upper.get(), info.st_mode & 0777) < 0) return fail_errno("chown the layer of the workspace");
  return file_rights_of(0);
}

// Written only to a new layer, so that a name chosen by the caller resolves inside; the image contains the default
// name. Afterwards the file belongs to the sandbox.
Result<void> RootMounts::write_hosts() {
  if (plan_.hostname == kDefaultHostname) return {};
  const std::string folder = part_name(*parts_.front().image) + ".upper/etc";
  COVE_TRY(sys::make_folder_beneath(layer_folder(), folder, 0755));
  return sys::make_file_beneath(
      layer_folder(), folder + "/hosts",
      concat("127.0.0.1\tlocalhost\n127.0.1.1\t", plan_.hostname, "\n::1\tlocalhost ip6-localhost ip6-loopback\n"),
      0644);
}

Result<void> RootMounts::stage_lowers(int user_namespace) {
  int map = maps_ids() ? user_namespace : -1;
  COVE_TRY(sys::mount_setattr(dev_.get(), kDevice, Subtree::One, map));
  int number = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const bool shielded = shields(parts_[i]);
    for (Lower& lower : parts_[i].lowers) {
      lower.path = concat(kStage, "/l", number++);
      COVE_TRY(sys::mkdir(lower.path, 0755));
      // Without a shield the host's files keep their owners, over which root inside has no rights.
      const bool keeps_owners = parts_[i].image->foreign && !shielded;
      COVE_TRY(sys::mount_setattr(lower.tree.get(), MOUNT_ATTR_RDONLY | kSafe, Subtree::One, keeps_owners ? -1 : map));
      COVE_TRY(sys::attach_mount(lower.tree.get(), AT_FDCWD, lower.path));
    }
    if (shielded) COVE_TRY(stage_shielded(parts_[i], i));
  }
  return {};
}

std::vector<std::string> RootMounts::lower_paths(const Part& part) {
  std::vector<std::string> paths;
  for (const Lower& lower : part.lowers) paths.push_back(lower.path);
  return paths;
}

// Shows the host's own files through an overlay that was mounted with the rights of an unprivileged user: the kernel
// checks every access against these rights as well. So what an unprivileged user of this machine cannot read is not
// readable for root inside either, even if it appears after the sandbox has started.
Result<void> RootMounts::stage_shielded(Part& part, size_t index) {
  MountOptions options = sys::lower_options(lower_paths(part));
  if (plan_.ids.rootless) options.emplace_back("userxattr", "");
  COVE_TRY(file_rights_of(kUnusedId));
  Result<UniqueFd> shielded = sys::make_mount("overlay", options, kSafe | MOUNT_ATTR_RDONLY);
  COVE_TRY(own_file_rights());
  if (!shielded) return std::unexpected(shielded.error());
  std::string path = concat(kStage, "/s", index);
  COVE_TRY(sys::mkdir(path, 0755));
  COVE_TRY(sys::attach_mount(shielded->get(), AT_FDCWD, path));
  part.lowers.clear();
  part.lowers.push_back({std::move(*shielded), path});
  return {};
}

Result<UniqueFd> RootMounts::mount_overlay(const std::vector<std::string>& lowers, const std::string& name) {
  MountOptions options = sys::lower_options(lowers);
  options.emplace_back("upperdir", concat(layer_path_, "/", name, ".upper"));
  options.emplace_back("workdir", concat(layer_path_, "/", name, ".work"));
  if (plan_.ids.rootless)
    options.emplace_back("userxattr", "");
  else
    options.emplace_back("redirect_dir", "on");
  // Without it, every end of a sandbox would write out all changes of the other sandboxes in the pool.
  options.emplace_back("volatile", "");
  // Files in the layer belong to the sandbox's root, regardless of who creates the mount.
  uint32_t owner = plan_.ids.builder_id(0);
  COVE_TRY(sys::set_fs_ids(owner, owner));
  COVE_TRY(raise_capabilities());
  Result<UniqueFd> mount = sys::make_mount("overlay", options, kSafe);
  COVE_TRY(own_file_rights());
  return mount;
}

Result<void> RootMounts::mount_part(const Part& part) {
  std::string name = part_name(*part.image);
  UniqueFd mount = COVE_TRY_NOTE(concat("mount ", name), mount_overlay(lower_paths(part), name));
  COVE_TRY(check_writable(mount.get(), name));
  if (!part.image->target.empty()) return attach(mount.get(), part.image->target);
  COVE_TRY(sys::mkdir(kStagedRoot, 0755));
  COVE_TRY(sys::attach_mount(mount.get(), AT_FDCWD, kStagedRoot));
  root_ = std::move(mount);
  return {};
}

Result<void> RootMounts::assemble() {
  for (const Part& part : parts_) COVE_TRY(mount_part(part));
  COVE_TRY_NOTE("mount /opt", attach_binds());
  COVE_TRY_NOTE("mount /dev", mount_dev());
  return attach_workspace();
}

Result<void> RootMounts::show_processes(int pid_namespace) {
  COVE_TRY_NOTE("mount /proc", mount_proc(pid_namespace));
  COVE_TRY_NOTE("mask /proc", mask_proc());
  return cover_meminfo();
}

Result<void> RootMounts::mount_dev() {
  COVE_TRY(attach(dev_.get(), "dev"));
  for (size_t i = 0; i < devices_.size(); ++i) COVE_TRY(attach(devices_[i].get(), concat("dev/", kDevices[i])));
  if (zero_) COVE_TRY(attach(zero_.get(), "dev/zero"));
  MountOptions pts_options = {{"ptmxmode", "0666"}, {"mode", "0620"}, {"max", std::to_string(kTerminals)}};
  if (!plan_.ids.single_id) pts_options.emplace_back("gid", std::to_string(plan_.ids.builder_id(kTtyGroup)));
  UniqueFd pts = COVE_TRY(sys::make_mount("devpts", pts_options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
  COVE_TRY(attach(pts.get(), "dev/pts"));
  MountOptions shm_options = {{"size", std::to_string(plan_.shm_bytes)}, {"nr_inodes", "65536"}, {"mode", "1777"}};
  UniqueFd shm = COVE_TRY(sys::make_mount("tmpfs", shm_options, kSafe | MOUNT_ATTR_NOEXEC));
  return attach(shm.get(), "dev/shm");
}

Result<void> RootMounts::mount_proc(int pid_namespace) {
  constexpr uint64_t kAttributes = kSafe | MOUNT_ATTR_NOEXEC;
  // Since Linux 6.17 the pid namespace to show is an option.
  Result<UniqueFd> proc = sys::make_mount("proc", {{"pidns", sys::fd_path(pid_namespace)}}, kAttributes);
  if (proc) return attach(proc->get(), "proc");
  return mount_proc_from_inside(pid_namespace);
}

// Before, it shows the pid namespace of the process that mounts it, so a short-lived child in the sandbox's pid
// namespace mounts it. An ordinary user cannot leave that namespace again; the builder does not fork afterwards.
Result<void> RootMounts::mount_proc_from_inside(int pid_namespace) {
  COVE_TRY(sys::setns(pid_namespace, CLONE_NEWPID));
  Result<void> outcome;
  pid_t pid = ::vfork();
  if (pid < 0) return fail_errno("vfork");
  if (pid == 0) {
    outcome = [&]() -> Result<void> {
      UniqueFd proc = COVE_TRY(sys::make_mount("proc", {}, kSafe | MOUNT_ATTR_NOEXEC));
      return attach(proc.get(), "proc");
    }();
    ::_exit(0);
  }
  COVE_TRY(sys::wait_for(pid));
  return outcome;
}

// Opens a path in the sandbox's root, where a program inside may have placed a link before the sandbox was stopped.
Result<void> RootMounts::attach(int mount, const std::string& path) {
  UniqueFd place = COVE_TRY(sys::find_beneath(root_.get(), path));
  return sys::attach_mount(mount, place.get(), "");
}

Result<UniqueFd> RootMounts::copy_of(const std::string& path) {
  UniqueFd place = COVE_TRY(sys::find_beneath(root_.get(), path));
  return sys::open_tree_clone(place.get(), "", Subtree::One);
}

// Covers a path with a copy of a mount, if this kernel has the path. That is checked first, because creating and
// removing a copy costs an RCU grace period.
Result<void> RootMounts::cover(const std::string& source, const std::string& path, uint64_t attributes) {
  Result<UniqueFd> place = sys::find_beneath(root_.get(), path);
  if (!place && place.error().code() == Code::NotFound) return {};
  if (!place) return std::unexpected(place.error());
  UniqueFd tree = COVE_TRY(copy_of(source));
  if (attributes != 0) COVE_TRY(sys::mount_setattr(tree.get(), attributes, Subtree::One));
  return sys::attach_mount(tree.get(), place->get(), "");
}

Result<void> RootMounts::mask_proc() {
  for (const char* name : kReadOnlyProc) {
    std::string path = concat("proc/", name);
    COVE_TRY(cover(path, path, MOUNT_ATTR_RDONLY | kSafe | MOUNT_ATTR_NOEXEC));
  }
  for (const char* name : kMaskedProcFiles) COVE_TRY(cover("dev/null", concat("proc/", name), 0));
  for (const char* name : kMaskedProcFolders) COVE_TRY(cover(kEmptyFolder, concat("proc/", name), 0));
  return {};
}

// For root, the folder's owner is mapped to the sandbox's user, so that new files belong to the owner and files of
// other users are not accessible; root inside is mapped to a separate id. Rootless, the caller is that user anyway.
Result<void> RootMounts::map_owner(int mount) {
  if (plan_.ids.rootless) return {};
  struct stat info = COVE_TRY(sys::fstat(mount));
  sys::WorkspaceIds ids = sys::plan_workspace_ids(info.st_uid, info.st_gid, plan_.ids.builder_id(plan_.workspace_owner),
                                                  plan_.ids.builder_id(0));
  UniqueFd map = COVE_TRY(sys::make_id_mapping(ids.users, ids.groups));
  Result<void> mapped = sys::mount_setattr(mount, 0, Subtree::One, map.get());
  if (mapped || mapped.error().errnum() != EINVAL) return mapped;
  return fail(Error(Code::Unsupported, concat(plan_.workspace.path,
                                              " cannot be a workspace: its file system cannot be "
                                              "mounted with mapped user ids"))
                  .hint("copy the files to a folder on ext4, xfs, btrfs or tmpfs"));
}

Result<void> RootMounts::attach_workspace() {
  if (!workspace_) return {};
  if (plan_.workspace.access != Access::Review) {
    COVE_TRY(attach(workspace_.get(), kWorkspacePath + 1));
    COVE_TRY(hide_own_folders());
    return show_repository();
  }
  UniqueFd mount =
      COVE_TRY_NOTE("mount a layer over the workspace", mount_overlay({concat(kStage, "/", kReviewName)}, kReviewName));
  COVE_TRY(check_writable(mount.get(), kReviewName));
  COVE_TRY(attach(mount.get(), kWorkspacePath + 1));
  return show_repository();
}

// The repository of a linked git worktree. It is mounted read-only, because its contents, such as hooks, are run
// outside. The `.git` file is replaced by one that contains the path inside.
Result<void> RootMounts::stage_repository() {
  if (!repository_) return {};
  COVE_TRY_NOTE("map the repository's owner", map_owner(repository_.get()));
  COVE_TRY(sys::mount_setattr(repository_.get(), kSafe | MOUNT_ATTR_RDONLY, Subtree::Recursive));
  COVE_TRY(sys::make_file_beneath(stage_.get(), kPointerName,
                                  concat("gitdir: ", std::string_view(kRepositoryPath), "/worktrees/", worktree_, "\n"),
                                  0644));
  UniqueFd pointer = COVE_TRY(sys::open_file_beneath(stage_.get(), kPointerName, O_RDONLY));
  uint32_t owner = plan_.ids.builder_id(plan_.workspace_owner);
  if (!plan_.ids.single_id && ::fchown(pointer.get(), owner, owner) < 0)
    return fail_errno("chown .git of the workspace");
  return {};
}

Result<void> RootMounts::show_repository() {
  if (!repository_) return {};
  Result<void> shown = attach(repository_.get(), kRepositoryPath + 1);
  if (!shown) return fail(std::move(shown.error()).note("mount the repository of the workspace"));
  UniqueFd pointer = COVE_TRY(sys::find_beneath(stage_.get(), kPointerName));
  UniqueFd tree = COVE_TRY(sys::open_tree_clone(pointer.get(), "", Subtree::One));
  COVE_TRY(sys::mount_setattr(tree.get(), kSafe | MOUNT_ATTR_RDONLY, Subtree::One));
  return attach(tree.get(), concat(std::string_view(kWorkspacePath + 1), "/.git"));
}

// Covers them with an empty folder. Those on a nested file system that is not mounted inside need no cover.
Result<void> RootMounts::hide_own_folders() {
  for (const std::string& path : hidden_) {
    Result<UniqueFd> place = sys::open_folder_beneath(workspace_.get(), path);
    if (!place && place.error().code() == Code::NotFound) continue;
    if (!place) return fail(std::move(place.error()).note("hide Cove's own folders in the workspace"));
    UniqueFd empty = COVE_TRY(copy_of(kEmptyFolder));
    COVE_TRY_NOTE("hide Cove's own folders in the workspace", sys::attach_mount(empty.get(), place->get(), ""));
  }
  return {};
}

Result<void> RootMounts::enter() { return sys::pivot_root(root_.get()); }

}  // namespace cove::native
