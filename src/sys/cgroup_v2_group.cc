#include "sys/cgroup_v2_group.h"

#include <poll.h>

#include <cerrno>
#include <charconv>

#include "base/text.h"
#include "sys/cgroup_mounts.h"
#include "sys/file.h"

namespace cove::sys {

ControllerSet parse_controllers(std::string_view text) {
  ControllerSet set;
  set.add(Controller::Freezer);
  for (Controller controller : kV2Controllers) {
    if (has_builder_message(text, controller_name(controller), ' ')) set.add(controller);
  }
  return set;
}

std::string missing_v2_hint() {
  if (::geteuid() == 0) return "the kernel may have been started with cgroup_disable=, or use it in cgroup v1";
  return "as root, write '[Service]' and 'Delegate=cpu io memory pids' into "
         "/etc/systemd/system/user@.service.d/delegate.conf, run systemctl daemon-reload and log in anew";
}

bool is_real_root(int folder) { return ::faccessat(folder, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT; }

Result<bool> is_occupied(int folder) {
  return !COVE_TRY(read_file_at(folder, "cgroup.procs", 1)).empty() && !is_real_root(folder);
}

Result<ControllerSet> delegate_controllers(int folder, const ControllerSet& wanted) {
  ControllerSet enabled = parse_controllers(COVE_TRY(read_file_at(folder, "cgroup.subtree_control")));
  ControllerSet available = parse_controllers(COVE_TRY(read_file_at(folder, "cgroup.controllers")));
  std::string missing;
  for (Controller controller : kV2Controllers) {
    if (!wanted.has(controller) || !available.has(controller) || enabled.has(controller)) continue;
    missing += concat(missing.empty() ? "+" : " +", controller_name(controller));
    enabled.add(controller);
  }
  if (!missing.empty()) COVE_TRY(poke_at(folder, "cgroup.subtree_control", missing));
  return enabled;
}

Result<void> V2Group::require(Controller controller) const {
  if (!has(controller)) return missing_controller(controller, missing_v2_hint());
  return {};
}

Result<void> V2Group::set_cpus(double cpus) {
  COVE_TRY(require(Controller::Cpu));
  return poke_at(folder_.get(), "cpu.max", concat(COVE_TRY(cpu_quota_us(cpus)), " ", kCpuPeriodUs));
}

Result<void> V2Group::set_cpu_count(unsigned count) {
  COVE_TRY(require(Controller::Cpuset));
  return poke_at(folder_.get(), "cpuset.cpus",
                 choose_cpus(COVE_TRY(read_file_at(folder_.get(), "../cpuset.cpus.effective")), count));
}

Result<void> V2Group::set_memory(uint64_t bytes, uint64_t swap) {
  COVE_TRY(require(Controller::Memory));
  if (swap > 0 && !counts_swap()) return uncounted_swap();
  Result<void> limited = poke_at(folder_.get(), "memory.swap.max", concat(swap));
  if (!limited && limited.error().errnum() != ENOENT) return limited;
  return poke_at(folder_.get(), "memory.max", concat(bytes));
}

bool V2Group::counts_swap() const { return ::faccessat(folder_.get(), "memory.swap.max", F_OK, 0) == 0; }

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
    if (::poll(&watched, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
      return fail_errno("poll cgroup.events");
  }
  COVE_TRY(thaw());
  return fail(Code::Unavailable, concat("freeze cgroup ", name_, ": some tasks do not stop"));
}

Result<void> V2Group::thaw() { return poke_at(folder_.get(), "cgroup.freeze", "0"); }

Result<void> V2Group::kill() {
  if (!folder_) return {};
  Result<void> killed = poke_at(folder_.get(), "cgroup.kill", "1");
  if (killed || killed.error().errnum() != ENOENT) return killed;
  // Before Linux 5.14. The signal also kills a frozen process.
  static_cast<void>(freeze_within(kKillFreezeTimeout));
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
  // Removes through "..", which needs no descriptor of the parent, whose handle may be gone already.
  COVE_TRY_NOTE(concat("remove cgroup ", name_), remove_group(folder_.get(), concat("../", name_)));
  folder_.reset();
  return {};
}

Result<std::unique_ptr<Cgroup>> V2Group::create_child(const std::string& name) {
  COVE_TRY(check_group_name(name));
  if (!hands_on_controllers_) {
    if (COVE_TRY(is_occupied(folder_.get())))
      return fail(Code::Unavailable, concat("cgroup ", name_, " has processes of its own, so it can have no children"));
    COVE_TRY_NOTE(concat("delegate the controllers of cgroup ", name_),
                  delegate_controllers(folder_.get(), controllers_));
    hands_on_controllers_ = true;
  }
  UniqueFd folder = COVE_TRY_NOTE("make a cgroup", make_group(folder_.get(), name));
  return std::make_unique<V2Group>(name, std::move(folder), controllers_);
}

Result<std::unique_ptr<Cgroup>> V2Group::adopt_child(const std::string& name) {
  COVE_TRY(check_group_name(name));
  UniqueFd folder = COVE_TRY_NOTE("adopt a cgroup", open_group(folder_.get(), name));
  return std::make_unique<V2Group>(name, std::move(folder), controllers_);
}

Cgroup::Parts V2Group::parts() const { return {2, {controllers_.bits()}, {folder_.get()}}; }

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
