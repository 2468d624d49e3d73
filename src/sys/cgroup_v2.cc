#include "sys/cgroup_v2.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "sys/cgroup_folder.h"
#include "sys/cgroup_v2_group.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

// The leaf for the processes of a group that has children with limits.
constexpr char kFront[] = "cove-front";
constexpr int kMoveRounds = 100;

std::string no_tree_hint() {
  if (::geteuid() == 0) return "make /sys/fs/cgroup writable: in a container, start that with a writable cgroup2 mount";
  return "start through the user's systemd, which gives a delegated scope: "
         "systemd-run --user --scope -p Delegate=yes …; or run as root";
}

// Moves all processes of the group into its leaf; this process is among them.
Result<void> vacate(int folder) {
  if (::mkdirat(folder, kFront, 0755) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", kFront));
  UniqueFd front = COVE_TRY(open_group(folder, kFront));
  for (int round = 0; round < kMoveRounds; ++round) {
    std::string pids = COVE_TRY(read_file_at(folder, "cgroup.procs"));
    if (pids.empty()) return {};
    for (const std::string& pid : split(trim(pids), '\n')) {
      Result<void> moved = poke_at(front.get(), "cgroup.procs", pid);
      if (!moved && moved.error().errnum() != ESRCH) return moved;
    }
  }
  return fail(Code::Unavailable, "move the processes of this cgroup into a leaf: they fork too fast");
}

// The folder of the tree in which groups are created.
struct Base {
  UniqueFd folder;
  std::string path;
};

class V2Tree final : public CgroupTree {
 public:
  V2Tree(Base base, std::string top, ControllerSet available)
      : base_(std::move(base)), top_(std::move(top)), available_(available) {}

  int version() const override { return 2; }
  bool has(Controller controller) const override { return available_.has(controller); }
  bool counts_swap() const override { return has(Controller::Memory); }
  std::string describe() const override;
  Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) override;
  Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) override;
  Result<std::vector<std::string>> list(const std::string& prefix) const override;

 private:
  Result<void> enable(const ControllerSet& wanted);

  Base base_;
  std::string top_;  // the mount point
  ControllerSet available_;
  ControllerSet enabled_;  // for the children of the base, as far as is known
};

Result<void> check_free_name(const std::string& name) {
  COVE_TRY(check_group_name(name));
  if (name == kFront) return fail(Code::Invalid, concat("the cgroup name ", kFront, " is reserved"));
  return {};
}

std::string V2Tree::describe() const {
  Result<std::string> text = read_file(top_ + "/cgroup.controllers");
  ControllerSet present = text ? parse_controllers(*text) : available_;
  std::string problems;
  for (Controller controller : kV2Controllers) {
    // Few users have the last one, and no limit requires it.
    if (!present.has(controller) || available_.has(controller) || controller == Controller::Cpuset) continue;
    problems += concat(problems.empty() ? "" : "; ", controller_name(controller), ": not delegated to ", base_.path);
  }
  return problems.empty() ? problems : concat(problems, " (", missing_v2_hint(), ")");
}

Result<void> V2Tree::enable(const ControllerSet& wanted) {
  auto lacks = [&](Controller c) { return wanted.has(c) && available_.has(c) && !enabled_.has(c); };
  if (std::ranges::none_of(kV2Controllers, lacks)) return {};
  if (COVE_TRY(is_occupied(base_.folder.get()))) COVE_TRY(vacate(base_.folder.get()));
  enabled_ = COVE_TRY_NOTE(concat("delegate the controllers of ", base_.path),
                           delegate_controllers(base_.folder.get(), wanted));
  return {};
}

Result<std::unique_ptr<Cgroup>> V2Tree::create(const std::string& name, const std::vector<Controller>& wanted) {
  COVE_TRY(check_free_name(name));
  COVE_TRY(enable(ControllerSet(wanted)));
  UniqueFd folder = COVE_TRY_NOTE("make a cgroup", make_group(base_.folder.get(), name));
  return std::make_unique<V2Group>(name, std::move(folder), enabled_);
}

Result<std::unique_ptr<Cgroup>> V2Tree::adopt(const std::string& name) {
  COVE_TRY(check_free_name(name));
  UniqueFd folder = COVE_TRY_NOTE("adopt a cgroup", open_group(base_.folder.get(), name));
  ControllerSet controllers = parse_controllers(COVE_TRY(read_file_at(folder.get(), "cgroup.controllers")));
  return std::make_unique<V2Group>(name, std::move(folder), controllers);
}

Result<std::vector<std::string>> V2Tree::list(const std::string& prefix) const {
  std::vector<std::string> names = COVE_TRY(child_groups(base_.folder.get()));
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix) || name == kFront; });
  return names;
}

// Whether groups can be created in the folder and processes moved into them.
Result<void> check_writable(const Base& base) {
  struct statfs info;
  if (::fstatfs(base.folder.get(), &info) < 0) return fail_errno(concat("statfs ", base.path));
  if (info.f_type != CGROUP2_SUPER_MAGIC)
    return fail(Code::NotFound, concat(base.path, " is covered by another mount"));
  for (const char* file : {".", "cgroup.procs", "cgroup.subtree_control"}) {
    if (::faccessat(base.folder.get(), file, W_OK, AT_EACCESS) < 0)
      return fail_errno(concat("write to ", base.path, "/", file));
  }
  return {};
}

Result<Base> open_base(const std::string& path) {
  Base base{COVE_TRY(open(path, O_PATH | O_DIRECTORY)), path};
  COVE_TRY(check_writable(base));
  return base;
}

// A process in a leaf that an earlier process created belongs to the group around it.
std::string_view without_front(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash != path.npos && path.substr(slash + 1) == kFront ? path.substr(0, std::max<size_t>(slash, 1)) : path;
}

Result<Base> find_base(const CgroupMount& mount, std::string_view own_path, V2Base where) {
  if (::geteuid() == 0 && where == V2Base::TopForRoot) {
    Result<Base> top = open_base(mount.point);
    if (top && is_real_root(top->folder.get())) return top;
  }
  std::optional<std::string> folder = folder_of(mount, without_front(own_path));
  if (!folder) return fail(Code::NotFound, concat(mount.point, " does not show the cgroup ", own_path));
  return open_base(*folder);
}

}  // namespace

Result<std::unique_ptr<CgroupTree>> find_cgroup_v2(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships, V2Base where) {
  auto own = std::ranges::find(memberships, "", &CgroupMembership::controllers);
  Error error(Code::NotFound, "no cgroup2 tree is mounted");
  for (const CgroupMount& mount : mounts) {
    if (mount.version != 2 || own == memberships.end()) continue;
    Result<Base> base = find_base(mount, own->path, where);
    if (!base) {
      error = std::move(base).error();
      continue;
    }
    ControllerSet available = parse_controllers(COVE_TRY(read_file_at(base->folder.get(), "cgroup.controllers")));
    return std::make_unique<V2Tree>(std::move(*base), mount.point, available);
  }
  return fail(std::move(error).as(Code::Unsupported).note("cgroups cannot be created").hint(no_tree_hint()));
}

}  // namespace cove::sys
