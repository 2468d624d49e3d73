#include "sys/probe.h"

#include <linux/landlock.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/text.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove::sys {
namespace {

constexpr const char* kStage = "/tmp";  // exists on every machine; covered only in the child's own mount namespace
constexpr size_t kMaxReport = 4096;

// A child's report about its attempt: empty, or errno and what was attempted.
Result<void> read_report(int fd) {
  std::string report = COVE_TRY(read_all(fd, kMaxReport));
  if (report.empty()) return {};
  size_t blank = report.find(' ');
  int errnum = std::atoi(report.c_str());
  std::string what = report.substr(blank + 1);
  return fail(errnum == 0 ? Error(Code::Unsupported, what) : Error::from_errno(errnum, what));
}

[[noreturn]] void report_and_exit(int fd, const Result<void>& outcome) {
  if (!outcome) {
    std::string what = join(outcome.error().notes(), ": ");
    what += concat(what.empty() ? "" : ": ", outcome.error().what());
    static_cast<void>(write_all(fd, concat(outcome.error().errnum(), " ", what)));
  }
  ::_exit(0);
}

// Runs an attempt in a child with its own namespaces.
Result<void> attempt_in_child(uint64_t namespaces, const std::function<Result<void>()>& attempt) {
  Pipe pipe = COVE_TRY(sys::pipe());
  Child child = COVE_TRY_NOTE("create namespaces", clone3(namespaces));
  if (child.pid == 0) report_and_exit(pipe.write.get(), attempt());
  pipe.write.reset();
  Result<void> outcome = read_report(pipe.read.get());
  int status = COVE_TRY(wait_for(child.pid));
  if (!WIFEXITED(status)) return fail(Code::Internal, concat("the attempt ended with signal ", WTERMSIG(status)));
  return outcome;
}

// In a new user namespace: this user becomes its root.
Result<void> become_root_inside(uint32_t user, uint32_t group) {
  return write_id_maps(::getpid(), {{0, user, 1}}, {{0, group, 1}}, Setgroups::Deny);
}

Result<void> cover_stage() {
  UniqueFd tmpfs = COVE_TRY(make_mount("tmpfs", {}, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID));
  COVE_TRY(attach_mount(tmpfs.get(), AT_FDCWD, kStage));
  if (::chdir(kStage) < 0) return fail_errno(concat("chdir ", std::string_view(kStage)));
  return {};
}

Result<void> mount_overlay(const MountOptions& extra) {
  COVE_TRY(cover_stage());
  for (const char* folder : {"lower", "upper", "work"}) COVE_TRY(mkdir(folder, 0755));
  MountOptions options = {{"lowerdir", "lower"}, {"upperdir", "upper"}, {"workdir", "work"}};
  options.insert(options.end(), extra.begin(), extra.end());
  COVE_TRY(make_mount("overlay", options, 0));
  return {};
}

// A waiting child in a user namespace, which serves as an id map.
class IdMapHolder {
 public:
  static Result<IdMapHolder> create() {
    IdMapHolder holder;
    holder.pipe_ = COVE_TRY(sys::pipe());
    holder.child_ = COVE_TRY(clone3(CLONE_NEWUSER));
    if (holder.child_.pid == 0) {
      holder.pipe_.write.reset();
      static_cast<void>(read_all(holder.pipe_.read.get(), 1));  // ends when the other side is closed
      ::_exit(0);
    }
    constexpr IdMapEntry kShifted = {0, 1'000'000'000, 65536};
    COVE_TRY(write_id_maps(holder.child_.pid, {kShifted}, {kShifted}, Setgroups::Keep));
    return holder;
  }
  IdMapHolder(IdMapHolder&& other) noexcept = default;
  ~IdMapHolder() {
    pipe_.write.reset();
    if (child_.pidfd) static_cast<void>(wait_for(child_.pid));
  }

  Result<UniqueFd> user_namespace() const { return open(concat("/proc/", child_.pid, "/ns/user"), O_RDONLY); }

 private:
  IdMapHolder() = default;
  Pipe pipe_;
  Child child_;
};

}  // namespace

bool KernelVersion::at_least(int wanted_major, int wanted_minor) const {
  return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
}

KernelVersion parse_kernel_version(const std::string& release) {
  KernelVersion version;
  version.release = release;
  if (std::sscanf(release.c_str(), "%d.%d", &version.major, &version.minor) != 2) version.major = version.minor = 0;
  return version;
}

KernelVersion kernel_version() {
  struct utsname name;
  return ::uname(&name) == 0 ? parse_kernel_version(name.release) : KernelVersion{};
}

Result<void> probe_user_namespaces() {
  uint32_t user = ::geteuid(), group = ::getegid();
  // AppArmor allows creating the namespace but removes its capabilities, which a mount reveals.
  return attempt_in_child(CLONE_NEWUSER | CLONE_NEWNS, [&]() -> Result<void> {
    COVE_TRY(become_root_inside(user, group));
    return cover_stage();
  });
}

Result<void> probe_overlay() {
  return attempt_in_child(CLONE_NEWNS, []() -> Result<void> {
    COVE_TRY(make_mounts_private());
    return mount_overlay({});
  });
}

Result<void> probe_overlay_in_user_namespace() {
  uint32_t user = ::geteuid(), group = ::getegid();
  return attempt_in_child(CLONE_NEWUSER | CLONE_NEWNS, [&]() -> Result<void> {
    COVE_TRY(become_root_inside(user, group));
    return mount_overlay({{"userxattr", ""}});
  });
}

Result<void> probe_idmapped_mount(const std::string& path) {
  IdMapHolder holder = COVE_TRY(IdMapHolder::create());
  UniqueFd map = COVE_TRY(holder.user_namespace());
  UniqueFd tree = COVE_TRY(open_tree_clone(AT_FDCWD, path, Subtree::One));
  return mount_setattr(tree.get(), 0, Subtree::One, map.get());
}

int landlock_abi() {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

std::vector<std::string> seccomp_actions() {
  auto text = read_file("/proc/sys/kernel/seccomp/actions_avail", kMaxReport);
  if (!text) return {};
  std::vector<std::string> actions = split(trim(*text), ' ');
  std::erase(actions, "");
  return actions;
}

bool has_file_system(std::string_view name) {
  auto text = read_file("/proc/filesystems");
  if (!text) return false;
  std::vector<std::string> lines = split(*text, '\n');
  return std::ranges::any_of(lines, [&](std::string_view line) { return line.substr(line.rfind('\t') + 1) == name; });
}

bool can_use_device(const std::string& path) { return ::access(path.c_str(), R_OK | W_OK) == 0; }

std::string find_program(const std::string& name) {
  const char* own = std::getenv("PATH");
  std::string path =
      concat(std::string_view(own == nullptr ? "" : own), ":/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin");
  for (const std::string& folder : split(path, ':')) {
    std::string candidate = concat(folder, "/", name);
    auto info = stat(candidate);
    bool program = folder.starts_with('/') && info && S_ISREG(info->st_mode) && ::access(candidate.c_str(), X_OK) == 0;
    if (program) return candidate;
  }
  return "";
}

}  // namespace cove::sys
