#include "sys/cgroup.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>

#include "base/text.h"
#include "sys/cgroup_mounts.h"
#include "sys/cgroup_v1.h"
#include "sys/cgroup_v1_group.h"
#include "sys/cgroup_v2.h"
#include "sys/cgroup_v2_group.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

using FoundTree = Result<std::unique_ptr<CgroupTree>>;

constexpr Controller kLimiting[] = {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Io};

// How many kinds of limits a tree supports; -1 if it is unusable.
long rank(const FoundTree& tree) {
  if (!tree) return -1;
  return std::ranges::count_if(kLimiting, [&](Controller controller) { return (*tree)->has(controller); });
}

bool has_version(const std::vector<CgroupMount>& mounts, int version) {
  return std::ranges::any_of(mounts, [&](const CgroupMount& mount) { return mount.version == version; });
}

FoundTree find_in(const std::vector<CgroupMount>& mounts, const std::vector<CgroupMembership>& memberships,
                  V2Base base) {
  if (!has_version(mounts, 1)) return find_cgroup_v2(mounts, memberships, base);
  FoundTree v1 = find_cgroup_v1(mounts, memberships);
  if (rank(v1) == std::ssize(kLimiting) || !has_version(mounts, 2)) return v1;
  FoundTree v2 = find_cgroup_v2(mounts, memberships, base);
  return v2 && rank(v2) >= rank(v1) ? std::move(v2) : std::move(v1);
}

// Assumes systemd's mount points instead of reading /proc/self/mountinfo, which takes 2 µs per mount of the machine,
// longer than everything else.
std::vector<CgroupMount> usual_mounts(const std::vector<CgroupMembership>& memberships) {
  const std::string top = "/sys/fs/cgroup";
  struct statfs info;
  if (::statfs(top.c_str(), &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC) return {{2, "", "/", top}};
  std::vector<CgroupMount> mounts;
  for (const CgroupMembership& membership : memberships) {
    if (membership.controllers.empty()) continue;
    mounts.push_back({1, membership.controllers, "/", concat(top, "/", membership.controllers)});
  }
  return mounts;
}

FoundTree find_of(const std::string& proc_cgroup, V2Base base) {
  std::vector<CgroupMembership> memberships = parse_cgroup_memberships(COVE_TRY(read_file(proc_cgroup)));
  FoundTree usual = find_in(usual_mounts(memberships), memberships, base);
  if (rank(usual) == std::ssize(kLimiting)) return usual;
  return find_in(parse_cgroup_mounts(COVE_TRY(read_file("/proc/self/mountinfo"))), memberships, base);
}

}  // namespace

Result<std::unique_ptr<Cgroup>> cgroup_from_parts(const std::string& name, int version,
                                                  const std::vector<unsigned>& kinds, std::vector<UniqueFd> folders) {
  if (kinds.size() != folders.size() || folders.empty() || (version == 2 && folders.size() != 1))
    return fail(Code::Invalid, concat("the parts of cgroup ", name, " do not fit together"));
  if (version == 2) return std::make_unique<V2Group>(name, std::move(folders[0]), ControllerSet(kinds[0]));
  std::vector<V1Part> parts;
  for (size_t i = 0; i < kinds.size(); ++i) parts.push_back({kinds[i], std::move(folders[i])});
  return std::make_unique<V1Group>(name, std::move(parts));
}

Result<std::unique_ptr<CgroupTree>> CgroupTree::find() { return find_of("/proc/self/cgroup", V2Base::TopForRoot); }

Result<std::unique_ptr<CgroupTree>> CgroupTree::find_around(pid_t process) {
  return find_of(concat("/proc/", process, "/cgroup"), V2Base::OwnGroup);
}

}  // namespace cove::sys
