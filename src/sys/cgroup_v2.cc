#include "sys/cgroup_v2.h"

#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "sys/cgroup_folder.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

constexpr Controller kSwitchable[] = {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Io};

// Where the processes of a group go that is to have children with limits.
constexpr char kFront[] = "cove-front";
constexpr int kMoveRounds = 100;

// From "cpu io memory": the controllers named, and the freezer, which every group has.
ControllerSet parse_controllers(std::string_view text) {
  ControllerSet set;
  set.add(Controller::Freezer);
  for (Controller controller : kSwitchable) {
    if (has_word(text, controller_name(controller), ' ')) set.add(controller);
  }
  return set;
}

std::string missing_hint() {
  if (::geteuid() == 0) return "the kernel may have been started with cgroup_disable=, or use it in cgroup v1";
  return "as root, write '[Service]' and 'Delegate=cpu io memory pids' into "
         "/etc/systemd/system/user@.service.d/delegate.conf, run systemctl daemon-reload and log in anew";
}

constexpr char kNoTreeHint[] =
    "start through the user's systemd, which gives a delegated scope: systemd-run --user --scope -p Delegate=yes …; "
    "or run as root";

// Lets the children of `folder` have those of `wanted` that it has; returns what they have then.
Result<ControllerSet> hand_on_controllers(int folder, const ControllerSet& wanted) {
  ControllerSet enabled = parse_controllers(COVE_TRY(read_file_at(folder, "cgroup.subtree_control")));
  ControllerSet available = parse_controllers(COVE_TRY(read_file_at(folder, "cgroup.controllers")));
  for (Controller controller : kSwitchable) {
    if (!wanted.has(controller) || !available.has(controller) || enabled.has(controller)) continue;
    // One by one: in one write, a controller that fails would take the others with it.
    COVE_TRY(poke_at(folder, "cgroup.subtree_control", concat("+", controller_name(controller))));
    enabled.add(controller);
  }
  return enabled;
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

class V2Group final : public Cgroup {
 public:
  V2Group(std::string name, UniqueFd folder, ControllerSet controllers)
      : name_(std::move(name)), folder_(std::move(folder)), controllers_(controllers) {}

  bool has(Controller controller) const override { return controllers_.has(controller); }

  Result<void> set_cpus(double cpus) override;
  Result<void> set_memory(uint64_t bytes) override;
  Result<void> set_pids(uint64_t count) override;
  Result<void> set_io(const std::string& device, uint64_t read, uint64_t write) override;

  Result<void> freeze() override { return freeze_within(kFreezePatience); }
  Result<void> thaw() override { return poke_at(folder_.get(), "cgroup.freeze", "0"); }
  Result<void> kill() override;
  Result<bool> populated() const override;

  Result<std::vector<UniqueFd>> open_join_fds() const override;
  int clone_fd() const override { return folder_.get(); }

  Result<CgroupUsage> usage() const override;
  Result<void> remove() override;
  Result<std::unique_ptr<Cgroup>> create_child(const std::string& name) override;

 private:
  Result<void> require(Controller controller) const;
  Result<void> freeze_within(std::chrono::milliseconds patience);

  Result<void> count_memory(CgroupUsage& usage) const;
  Result<void> count_pids(CgroupUsage& usage) const;

  std::string name_;
  UniqueFd folder_;  // invalid once removed
  ControllerSet controllers_;
  bool hands_on_controllers_ = false;
  mutable HighestSeen memory_seen_;
  mutable HighestSeen pids_seen_;
};

Result<void> V2Group::require(Controller controller) const {
  if (!has(controller)) return missing_controller(controller, missing_hint());
  return {};
}

Result<void> V2Group::set_cpus(double cpus) {
  COVE_TRY(require(Controller::Cpu));
  return poke_at(folder_.get(), "cpu.max", concat(COVE_TRY(cpu_quota_us(cpus)), " ", kCpuPeriodUs));
}

Result<void> V2Group::set_memory(uint64_t bytes) {
  COVE_TRY(require(Controller::Memory));
  Result<void> no_swap = poke_at(folder_.get(), "memory.swap.max", "0");
  if (!no_swap && no_swap.error().errnum() != ENOENT) return no_swap;
  return poke_at(folder_.get(), "memory.max", concat(bytes));
}

Result<void> V2Group::set_pids(uint64_t count) {
  COVE_TRY(require(Controller::Pids));
  return poke_at(folder_.get(), "pids.max", concat(count));
}

Result<void> V2Group::set_io(const std::string& device, uint64_t read, uint64_t write) {
  COVE_TRY(require(Controller::Io));
  auto limit = [](uint64_t bytes) { return bytes == 0 ? std::string("max") : concat(bytes); };
  return poke_at(folder_.get(), "io.max", concat(device, " rbps=", limit(read), " wbps=", limit(write)));
}

Result<void> V2Group::freeze_within(std::chrono::milliseconds patience) {
  auto end = std::chrono::steady_clock::now() + patience;
  UniqueFd events = COVE_TRY(openat(folder_.get(), "cgroup.events", O_RDONLY));
  COVE_TRY(poke_at(folder_.get(), "cgroup.freeze", "1"));
  for (;;) {
    if (::lseek(events.get(), 0, SEEK_SET) < 0) return fail_errno("seek in cgroup.events");
    if (keyed_number(COVE_TRY(read_all(events.get())), "frozen") == 1) return {};
    auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    struct pollfd watched = {events.get(), POLLPRI, 0};
    if (::poll(&watched, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return fail_errno("poll cgroup.events");
  }
  COVE_TRY(thaw());
  return fail(Code::Unavailable, concat("freeze cgroup ", name_, ": some tasks do not stop"));
}

Result<void> V2Group::kill() {
  if (!folder_) return {};
  Result<void> killed = poke_at(folder_.get(), "cgroup.kill", "1");
  if (killed || killed.error().errnum() != ENOENT) return killed;
  // Before Linux 5.14. A frozen process dies of the signal all the same.
  static_cast<void>(freeze_within(kKillFreezePatience));
  killed = kill_everything(folder_.get(), "cgroup.procs");
  COVE_TRY(thaw());
  return killed;
}

Result<bool> V2Group::populated() const {
  if (!folder_) return false;
  return keyed_number(COVE_TRY(read_file_at(folder_.get(), "cgroup.events")), "populated") == 1;
}

Result<std::vector<UniqueFd>> V2Group::open_join_fds() const {
  std::vector<UniqueFd> fds;
  fds.push_back(COVE_TRY(openat(folder_.get(), "cgroup.procs", O_WRONLY)));
  return fds;
}

Result<CgroupUsage> V2Group::usage() const {
  CgroupUsage usage;
  std::string cpu = COVE_TRY(read_file_at(folder_.get(), "cpu.stat"));  // there without the controller, too
  usage.cpu_user_us = keyed_number(cpu, "user_usec");
  usage.cpu_system_us = keyed_number(cpu, "system_usec");
  if (has(Controller::Memory)) COVE_TRY(count_memory(usage));
  if (has(Controller::Pids)) COVE_TRY(count_pids(usage));
  if (has(Controller::Io)) add_io_stat(COVE_TRY(read_file_at(folder_.get(), "io.stat")), usage);
  return usage;
}

Result<void> V2Group::count_memory(CgroupUsage& usage) const {
  usage.memory_bytes = COVE_TRY(read_number(folder_.get(), "memory.current"));
  usage.memory_peak_bytes = read_number_or(folder_.get(), "memory.peak", memory_seen_.show(usage.memory_bytes));
  // Not memory.events.local: this one counts a kill in the victim's group and in all above it.
  usage.oom_kills = keyed_number(COVE_TRY(read_file_at(folder_.get(), "memory.events")), "oom_kill");
  return {};
}

Result<void> V2Group::count_pids(CgroupUsage& usage) const {
  usage.pids = COVE_TRY(read_number(folder_.get(), "pids.current"));
  usage.pids_peak = read_number_or(folder_.get(), "pids.peak", pids_seen_.show(usage.pids));
  // Kernels without pids.events.local count a refusal in the group that forked, later ones in that of the limit
  // and in all above it.
  bool counts_upwards = ::faccessat(folder_.get(), "pids.events.local", F_OK, 0) == 0;
  usage.pids_refused = counts_upwards ? keyed_number(COVE_TRY(read_file_at(folder_.get(), "pids.events")), "max")
                                      : COVE_TRY(sum_of_keyed(folder_.get(), "pids.events", "max"));
  return {};
}

Result<void> V2Group::remove() {
  if (!folder_) return {};
  // Through "..": it needs no descriptor of the parent, which may be gone before this is.
  COVE_TRY_NOTE(concat("remove cgroup ", name_), remove_group(folder_.get(), concat("../", name_)));
  folder_.reset();
  return {};
}

Result<std::unique_ptr<Cgroup>> V2Group::create_child(const std::string& name) {
  COVE_TRY(check_group_name(name));
  if (!hands_on_controllers_) {
    COVE_TRY_NOTE(concat("hand on the controllers of cgroup ", name_),
                  hand_on_controllers(folder_.get(), controllers_));
    hands_on_controllers_ = true;
  }
  UniqueFd folder = COVE_TRY_NOTE("make a cgroup", make_group(folder_.get(), name));
  return std::make_unique<V2Group>(name, std::move(folder), controllers_);
}

// Where groups are made: a folder of the tree.
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
  std::string describe() const override;
  Result<std::unique_ptr<Cgroup>> create(const std::string& name, const std::vector<Controller>& wanted) override;
  Result<std::unique_ptr<Cgroup>> adopt(const std::string& name) override;
  Result<std::vector<std::string>> list(const std::string& prefix) const override;

 private:
  Result<void> enable(const ControllerSet& wanted);

  Base base_;
  std::string top_;  // the mount point
  ControllerSet available_;
  ControllerSet enabled_;  // for the children of the base, as far as known
};

Result<void> check_free_name(const std::string& name) {
  COVE_TRY(check_group_name(name));
  if (name == kFront) return fail(Code::Invalid, concat("the cgroup ", kFront, " is Cove's own"));
  return {};
}

std::string V2Tree::describe() const {
  Result<std::string> text = read_file(top_ + "/cgroup.controllers");
  ControllerSet present = text ? parse_controllers(*text) : available_;
  std::string problems;
  for (Controller controller : kSwitchable) {
    if (!present.has(controller) || available_.has(controller)) continue;
    problems += concat(problems.empty() ? "" : "; ", controller_name(controller), ": not delegated to ", base_.path);
  }
  return problems.empty() ? problems : concat(problems, " (", missing_hint(), ")");
}

Result<void> V2Tree::enable(const ControllerSet& wanted) {
  auto lacks = [&](Controller c) { return wanted.has(c) && available_.has(c) && !enabled_.has(c); };
  if (std::ranges::none_of(kSwitchable, lacks)) return {};
  Result<ControllerSet> enabled = hand_on_controllers(base_.folder.get(), wanted);
  if (!enabled && enabled.error().errnum() == EBUSY) {
    COVE_TRY(vacate(base_.folder.get()));
    enabled = hand_on_controllers(base_.folder.get(), wanted);
  }
  enabled_ = COVE_TRY_NOTE(concat("hand on the controllers of ", base_.path), std::move(enabled));
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

// Whether groups can be made in the folder, and processes moved into them.
Result<void> check_writable(const Base& base) {
  struct statfs info;
  if (::fstatfs(base.folder.get(), &info) < 0) return fail_errno(concat("statfs ", base.path));
  if (info.f_type != CGROUP2_SUPER_MAGIC) return fail(Code::NotFound, concat(base.path, " is covered by another mount"));
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

// The root of the whole hierarchy, the one group that may have both processes and children with controllers.
bool is_real_root(const Base& base) { return ::faccessat(base.folder.get(), "cgroup.type", F_OK, 0) < 0 && errno == ENOENT; }

// A process in a leaf that an earlier one made belongs to the group around it.
std::string_view without_front(std::string_view path) {
  size_t slash = path.rfind('/');
  return slash != path.npos && path.substr(slash + 1) == kFront ? path.substr(0, std::max<size_t>(slash, 1)) : path;
}

Result<Base> find_base(const CgroupMount& mount, std::string_view own_path) {
  if (::geteuid() == 0) {
    Result<Base> top = open_base(mount.point);
    if (top && is_real_root(*top)) return top;
  }
  std::optional<std::string> folder = folder_of(mount, without_front(own_path));
  if (!folder) return fail(Code::NotFound, concat(mount.point, " does not show the cgroup ", own_path));
  return open_base(*folder);
}

}  // namespace

Result<std::unique_ptr<CgroupTree>> find_cgroup_v2(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships) {
  auto own = std::ranges::find(memberships, "", &CgroupMembership::controllers);
  Error error(Code::NotFound, "no cgroup2 tree is mounted");
  for (const CgroupMount& mount : mounts) {
    if (mount.version != 2 || own == memberships.end()) continue;
    Result<Base> base = find_base(mount, own->path);
    if (!base) {
      error = std::move(base).error();
      continue;
    }
    ControllerSet available = parse_controllers(COVE_TRY(read_file_at(base->folder.get(), "cgroup.controllers")));
    return std::make_unique<V2Tree>(std::move(*base), mount.point, available);
  }
  return fail(std::move(error).as(Code::Unsupported).note("no cgroups can be made").hint(kNoTreeHint));
}

void add_io_stat(std::string_view text, CgroupUsage& usage) {
  auto number = [](std::string_view digits) {
    uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  for (const std::string& line : split(text, '\n')) {
    for (std::string_view field : split(line, ' ')) {
      if (field.starts_with("rbytes=")) usage.io_read_bytes += number(field.substr(7));
      if (field.starts_with("wbytes=")) usage.io_write_bytes += number(field.substr(7));
    }
  }
}

}  // namespace cove::sys
