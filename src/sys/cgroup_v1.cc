#include "sys/cgroup_v1.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "sys/cgroup_folder.h"
#include "sys/cgroup_v1_group.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

class V1Tree final : public CgroupTree {
 public:
  V1Tree(std::vector<V1Part> parents, std::string problems)
      : parents_(std::move(parents)), problems_(std::move(problems)) {}

  int version() const override { return 1; }
  bool has(Controller controller) const override { return serve(parents_, controller); }
  bool counts_swap() const override { return files_count_swap(parents_); }
  std::string describe() const override { return problems_; }
  Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) override {
    COVE_TRY(check_group_name(name));
    return V1Group::make(parents_, name, ControllerSet(wanted));
  }
  Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) override;
  Result<std::vector<std::string>> list(const std::string& prefix) const override;

 private:
  std::vector<V1Part> parents_;  // this process's own group in each hierarchy
  std::string problems_;
};

Result<std::unique_ptr<Cgroup>> V1Tree::adopt(const std::string& name) {
  COVE_TRY(check_group_name(name));
  std::vector<V1Part> parts;
  for (const V1Part& parent : parents_) {
    Result<UniqueFd> folder = open_group(parent.folder.get(), name);
    if (!folder && folder.error().errnum() == ENOENT) continue;
    if (!folder) return fail(std::move(folder).error().note("adopt a cgroup"));
    parts.push_back({parent.subsystems, std::move(*folder)});
  }
  if (parts.empty()) return fail(Code::NotFound, concat("no such cgroup: ", name));
  return std::make_unique<V1Group>(name, std::move(parts));
}

Result<std::vector<std::string>> V1Tree::list(const std::string& prefix) const {
  // Every group is created first and removed last in the first hierarchy, so listing that one is enough.
  std::vector<std::string> names;
  if (parents_.empty()) return names;
  for (std::string& name : COVE_TRY(child_groups(parents_.front().folder.get()))) {
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

// This process's group in the hierarchy of one subsystem, if it can be written to.
Result<UniqueFd> open_writable(const std::string& path) {
  UniqueFd folder = COVE_TRY(open(path, O_PATH | O_DIRECTORY));
  struct statfs info;
  if (::fstatfs(folder.get(), &info) < 0) return fail_errno(concat("statfs ", path));
  if (info.f_type != CGROUP_SUPER_MAGIC) return fail(Code::NotFound, concat(path, " is covered by another mount"));
  if (::faccessat(folder.get(), ".", W_OK, AT_EACCESS) < 0) return fail_errno(concat("write to ", path));
  return folder;
}

// The first mount that contains the process's group, or why none can be used. Empty: no such hierarchy.
Result<UniqueFd> open_own_group(const std::string& subsystem, const std::vector<CgroupMount>& mounts,
                                const std::vector<CgroupMembership>& memberships) {
  Result<UniqueFd> last;
  for (const CgroupMembership& membership : memberships) {
    if (!has_builder_message(membership.controllers, subsystem, ',')) continue;
    last = fail(Code::NotFound, "its hierarchy is not mounted");
    for (const CgroupMount& mount : mounts) {
      if (mount.version != 1 || !has_builder_message(mount.controllers, subsystem, ',')) continue;
      std::optional<std::string> path = folder_of(mount, membership.path);
      if (!path) continue;
      last = open_writable(*path);
      if (last) return last;
    }
  }
  return last;
}

// The row's hierarchy may be open already for another of its subsystems.
V1Part* part_sharing(std::vector<V1Part>& parts, const char* subsystem,
                     const std::vector<CgroupMembership>& memberships) {
  for (const CgroupMembership& membership : memberships) {
    if (!has_builder_message(membership.controllers, subsystem, ',')) continue;
    for (V1Part& part : parts) {
      for (const SubsystemRow& row : kSubsystems) {
        if (part.serves(row.subsystem) && has_builder_message(membership.controllers, row.name, ',')) return &part;
      }
    }
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<CgroupTree>> find_cgroup_v1(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships) {
  std::vector<V1Part> parts;
  std::string problems;
  for (const SubsystemRow& row : kSubsystems) {
    if (V1Part* shared = part_sharing(parts, row.name, memberships)) {
      shared->subsystems |= 1u << row.subsystem;
      continue;
    }
    Result<UniqueFd> folder = open_own_group(row.name, mounts, memberships);
    if (!folder) problems += concat(problems.empty() ? "" : "; ", row.name, ": ", folder.error().message());
    if (folder && folder->valid()) parts.push_back({1u << row.subsystem, std::move(*folder)});
  }
  // The hierarchy that contains every group: see `list`.
  std::ranges::stable_partition(parts, [](const V1Part& part) { return part.serves(kPids); });
  if (!parts.empty()) return std::make_unique<V1Tree>(std::move(parts), std::move(problems));
  Error error(Code::Unsupported, concat("groups cannot be created in the cgroup v1 hierarchies: ", problems));
  return fail(std::move(error).hint(missing_v1_hint()));
}

}  // namespace cove::sys
