#include "sys/ids.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "base/error_wire.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::sys {
namespace {

// Above the ids of useradd and of systemd's containers, and below 2^31.
constexpr uint32_t kFirstBase = 0x70000000;
constexpr uint32_t kRanges = 4094;
// From here on, ids belong only to files, not to processes.
constexpr uint32_t kFirstStandIn = uint32_t{1} << 31;

bool lock_range(int fd, uint32_t range) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = range;
  lock.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

std::string user_name(uint32_t uid) {
  Result<std::string> passwd = sys::read_file("/etc/passwd");
  if (!passwd) return {};
  for (const std::string& line : split(*passwd, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() >= 3 && fields[2] == std::to_string(uid)) return fields[0];
  }
  return {};
}

uint32_t subordinate_start(const std::string& path, const std::string& name) {
  Result<std::string> table = sys::read_file(path);
  return table ? find_subordinate_ids(*table, name, ::getuid()) : 0;
}

Result<pid_t> start_helper(const char* program, pid_t builder, const sys::IdMap& map) {
  std::vector<std::string> words = {program, std::to_string(builder)};
  for (const sys::IdMapEntry& entry : map)
    for (uint32_t number : {entry.inside, entry.outside, entry.count}) words.push_back(std::to_string(number));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid;
  int errnum = ::posix_spawnp(&pid, program, nullptr, nullptr, argv.data(), environ);
  if (errnum != 0) return fail(Error::from_errno(errnum, concat("start ", program)));
  return pid;
}

Result<void> finish_helper(const char* program, pid_t pid) {
  if (COVE_TRY(sys::wait_for(pid)) == 0) return {};
  return fail(Error(Code::Denied, concat(program, " refused to map the subordinate ids"))
                  .hint("check /etc/subuid and /etc/subgid, or run `cove doctor`"));
}

bool helpers_installed() {
  return ::access("/usr/bin/newuidmap", X_OK) == 0 && ::access("/usr/bin/newgidmap", X_OK) == 0;
}

}  // namespace

uint32_t IdPlan::builder_id(uint32_t inside) const {
  for (const sys::IdMapEntry& entry : users)
    if (inside >= entry.inside && inside - entry.inside < entry.count) return entry.outside + (inside - entry.inside);
  return users.front().outside;
}

Result<sys::Child> IdPlan::clone_with_user_namespace(uint64_t flags) const {
  return rootless ? sys::clone3(CLONE_NEWUSER | flags) : sys::clone3_as(builder_id(0), CLONE_NEWUSER | flags);
}

bool can_map_layers(const std::string& folder) {
  struct statfs info;
  // A folder that does not exist yet will be in its parent's file system.
  std::string there = folder;
  while (::statfs(there.c_str(), &info) < 0) {
    if (there.size() <= 1) return false;
    there = there.substr(0, std::max<size_t>(1, there.rfind('/')));
  }
  if (info.f_type == OVERLAYFS_SUPER_MAGIC) return false;
  struct utsname kernel;
  int major = 0;
  int minor = 0;
  if (::uname(&kernel) < 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return major > 5 || (major == 5 && minor >= 19);
}

IdPlan plan_shared_ids() {
  IdPlan plan;
  plan.shared = true;
  plan.users = plan.groups = {{0, kFirstBase + kRanges * kIdsPerSandbox, kIdsPerSandbox}};
  return plan;
}

Result<IdPlan> plan_root_ids(const std::string& run_folder) {
  COVE_TRY(sys::make_run_folder(run_folder));
  IdPlan plan;
  plan.lock = COVE_TRY(sys::open(run_folder + "/ids", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  uint32_t start = 0;
  if (::getrandom(&start, sizeof start, 0) < 0) return fail_errno("getrandom");
  for (uint32_t i = 0; i < kRanges; ++i) {
    uint32_t range = (start + i) % kRanges;
    if (!lock_range(plan.lock.get(), range)) continue;
    plan.users = plan.groups = {{0, kFirstBase + range * kIdsPerSandbox, kIdsPerSandbox}};
    return plan;
  }
  return fail(Code::Exhausted, concat("all ", kRanges, " ranges of user ids are in use"));
}

uint32_t find_subordinate_ids(std::string_view table, std::string_view user, uint32_t uid) {
  for (const std::string& line : split(table, '\n')) {
    std::vector<std::string> fields = split(line, ':');
    if (fields.size() != 3 || (fields[0] != user && fields[0] != std::to_string(uid))) continue;
    Result<int64_t> start = parse_integer(fields[1], 1, UINT32_MAX);
    Result<int64_t> count = parse_integer(fields[2], 1, UINT32_MAX);
    if (start && count && *count >= kIdsPerSandbox - 1) return static_cast<uint32_t>(*start);
  }
  return 0;
}

Result<IdPlan> plan_rootless_ids(uint32_t main_id) {
  IdPlan plan;
  plan.rootless = true;
  uint32_t uid = ::getuid();
  uint32_t gid = ::getgid();
  std::string name = user_name(uid);
  uint32_t users = helpers_installed() ? subordinate_start("/etc/subuid", name) : 0;
  uint32_t groups = helpers_installed() ? subordinate_start("/etc/subgid", name) : 0;
  plan.single_id = users == 0 || groups == 0;
  plan.outer_users = {{0, uid, 1}};
  plan.outer_groups = {{0, gid, 1}};
  if (plan.single_id) {
    plan.users = plan.groups = {{main_id, 0, 1}};
    return plan;
  }
  plan.outer_users.push_back({1, users, kIdsPerSandbox - 1});
  plan.outer_groups.push_back({1, groups, kIdsPerSandbox - 1});
  plan.users =
      plan.groups = {{0, 1, kUserId}, {kUserId, 0, 1}, {kUserId + 1, kUserId + 1, kIdsPerSandbox - kUserId - 1}};
  return plan;
}

Result<void> do_as_owner_of(const IdPlan& ids, const std::function<Result<void>()>& work) {
  if (!ids.rootless || ids.single_id) return work();
  sys::Pipe go = COVE_TRY(sys::pipe());
  sys::Pipe answer = COVE_TRY(sys::pipe());
  sys::Child child = COVE_TRY(sys::clone3(CLONE_NEWUSER));
  if (child.pid == 0) {
    go.write.reset();
    char word;
    if (::read(go.read.get(), &word, 1) != 1 || ::setresgid(0, 0, 0) < 0 || ::setresuid(0, 0, 0) < 0) ::_exit(1);
    Result<void> done = work();
    if (!done) static_cast<void>(sys::write_all(answer.write.get(), encode_error(done.error())));
    ::_exit(done ? 0 : 1);
  }
  answer.write.reset();
  Result<void> mapped = map_with_helpers(child.pid, ids);
  if (mapped && ::write(go.write.get(), "g", 1) != 1) mapped = fail_errno("start the child");
  go.write.reset();
  Result<std::string> error = sys::read_all(answer.read.get(), wire::kMaxMessage);
  int status = COVE_TRY(sys::wait_for(child.pid));
  if (!mapped || status == 0) return mapped;
  return fail(decode_error(error.value_or("")));
}

WorkspaceIds plan_workspace_ids(uint32_t owner, uint32_t group, uint32_t shown, uint32_t root) {
  WorkspaceIds ids{{{owner, shown, 1}}, {{group, shown, 1}}};
  const uint32_t stand_in = kFirstStandIn + owner;
  if (shown == root || owner >= kFirstStandIn - 1 || group == stand_in) return ids;
  ids.users.push_back({stand_in, root, 1});
  ids.groups.push_back({stand_in, root, 1});
  return ids;
}

namespace {

// The user namespace of a temporary child.
Result<UniqueFd> take_user_namespace(sys::Child holder, const sys::IdMap& users, const sys::IdMap& groups) {
  if (holder.pid == 0) {
    ::pause();
    ::_exit(0);
  }
  Result<void> mapped = sys::write_id_maps(holder.pid, users, groups, sys::Setgroups::Keep);
  Result<UniqueFd> made = mapped ? sys::open(concat("/proc/", holder.pid, "/ns/user"), O_RDONLY)
                                 : Result<UniqueFd>(std::unexpected(mapped.error()));
  static_cast<void>(sys::kill_by_pidfd(holder.pidfd.get(), SIGKILL));
  COVE_TRY(sys::wait_for(holder.pid));
  return made;
}

}  // namespace

Result<UniqueFd> make_id_mapping(const sys::IdMap& users, const sys::IdMap& groups) {
  return take_user_namespace(COVE_TRY(sys::clone3(CLONE_NEWUSER)), users, groups);
}

Result<UniqueFd> make_user_namespace(const IdPlan& ids) {
  return take_user_namespace(COVE_TRY(ids.clone_with_user_namespace(0)), ids.users, ids.groups);
}

Result<void> map_with_helpers(pid_t builder, const IdPlan& ids) {
  pid_t users = COVE_TRY(start_helper("newuidmap", builder, ids.outer_users));
  Result<pid_t> groups = start_helper("newgidmap", builder, ids.outer_groups);
  Result<void> first = finish_helper("newuidmap", users);
  if (!groups) return std::unexpected(groups.error());
  COVE_TRY(finish_helper("newgidmap", *groups));
  return first;
}

}  // namespace cove::sys
