#include "sys/cgroup_v1_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "base/text.h"
#include "sys/file.h"

namespace cove::sys {
namespace {

// A child needs no group in the other hierarchies: the parent's freezes and throttles it, too.
const ControllerSet kOfChildren({Controller::Cpu, Controller::Memory, Controller::Pids});

bool wanted_part(const V1Part& part, const ControllerSet& wanted) {
  return std::ranges::any_of(
      kSubsystems, [&](const SubsystemRow& row) { return part.serves(row.subsystem) && wanted.has(row.serves); });
}

// On v1, socket buffers of all protocols are accounted separately.
constexpr uint64_t kShareOfSockets = 16;
constexpr uint64_t kLeastForSockets = 1 << 20;
constexpr uint64_t kAsTheParent = uint64_t{1} << 40;

// The kernel counts it for a group and those below only after a limit is set. Some kernels do not support it.
Result<void> limit_sockets(int folder, uint64_t bytes) {
  Result<void> limited = poke_at(folder, "memory.kmem.tcp.limit_in_bytes", concat(bytes));
  return !limited && limited.error().errnum() == ENOENT ? Result<void>() : limited;
}

// User and system time: "cpu user system", and a line of three numbers for each CPU.
std::pair<uint64_t, uint64_t> sum_over_cpus(std::string_view text) {
  std::pair<uint64_t, uint64_t> sum;
  for (size_t line = text.find('\n'); line != std::string_view::npos; line = text.find('\n', line + 1)) {
    size_t user = text.find(' ', line + 1);
    size_t system = user == std::string_view::npos ? user : text.find(' ', user + 1);
    if (system == std::string_view::npos) break;
    sum.first += leading_number(text.substr(user + 1));
    sum.second += leading_number(text.substr(system + 1));
  }
  return sum;
}

// Removes through "..", which needs no descriptor of the parent, whose handle may be gone already.
Result<void> remove_part(const V1Part& part, const std::string& name) {
  return remove_group(part.folder.get(), concat("../", name));
}

}  // namespace

int folder_with(const std::vector<V1Part>& parts, Subsystem subsystem) {
  for (const V1Part& part : parts) {
    if (part.serves(subsystem)) return part.folder.get();
  }
  return -1;
}

bool serve(const std::vector<V1Part>& parts, Controller controller) {
  // Cpu is the quota: without it, the counting of cpuacct alone is not enough.
  return std::ranges::any_of(kSubsystems, [&](const SubsystemRow& row) {
    return row.serves == controller && row.subsystem != kCpuacct && folder_with(parts, row.subsystem) >= 0;
  });
}

bool files_count_swap(const std::vector<V1Part>& parts) {
  const int folder = folder_with(parts, kMemory);
  return folder >= 0 && ::faccessat(folder, "memory.memsw.limit_in_bytes", F_OK, 0) == 0;
}

std::string missing_v1_hint() {
  if (::geteuid() != 0) return "run as root: cgroup v1 has no safe delegation to users";
  return "mount the hierarchy, or start the kernel with systemd.unified_cgroup_hierarchy=1 and without cgroup_disable=";
}

Result<std::unique_ptr<V1Group>> V1Group::make(const std::vector<V1Part>& parents, const std::string& name,
                                               const ControllerSet& wanted) {
  std::vector<V1Part> parts;
  for (const V1Part& parent : parents) {
    if (!wanted_part(parent, wanted)) continue;
    Result<UniqueFd> folder = make_group(parent.folder.get(), name);
    if (!folder) {
      for (const V1Part& made : parts) static_cast<void>(remove_part(made, name));
      return fail(std::move(folder).error().note("make a cgroup"));
    }
    parts.push_back({parent.subsystems, std::move(*folder)});
  }
  if (parts.empty()) return fail(Code::Unsupported, concat("cgroup ", name, ": none of its controllers can be used"));
  return std::make_unique<V1Group>(name, std::move(parts));
}

Result<int> V1Group::folder_of(Controller controller, Subsystem subsystem) const {
  int folder = folder_with(parts_, subsystem);
  if (folder < 0) return missing_controller(controller, missing_v1_hint());
  return folder;
}

int V1Group::any_folder() const {
  int freezer = folder_with(parts_, kFreezer);
  return freezer >= 0 || parts_.empty() ? freezer : parts_.front().folder.get();
}

Result<void> V1Group::set_cpus(double cpus) {
  int folder = COVE_TRY(folder_of(Controller::Cpu, kCpu));
  std::string quota = concat(COVE_TRY(cpu_quota_us(cpus)));
  return poke_at(folder, "cpu.cfs_quota_us", quota);  // of the period's default, 100 ms
}

// Nothing can join it before both are set.
Result<void> V1Group::set_cpu_count(unsigned count) {
  int folder = COVE_TRY(folder_of(Controller::Cpuset, kCpuset));
  COVE_TRY(poke_at(folder, "cpuset.mems", trim(COVE_TRY(read_file_at(folder, "../cpuset.effective_mems")))));
  return poke_at(folder, "cpuset.cpus", choose_cpus(COVE_TRY(read_file_at(folder, "../cpuset.effective_cpus")), count));
}

Result<void> V1Group::set_memory(uint64_t bytes, uint64_t swap) {
  int folder = COVE_TRY(folder_of(Controller::Memory, kMemory));
  if (swap > 0 && !counts_swap()) return uncounted_swap();
  COVE_TRY(limit_sockets(folder, std::max(kLeastForSockets, bytes / kShareOfSockets)));
  Result<void> limited = poke_at(folder, "memory.limit_in_bytes", concat(bytes));
  if (limited) return limit_swap(bytes + swap);
  if (limited.error().errnum() != EINVAL) return limited;
  // It exceeds the current limit of memory and swap together, so that one is set first.
  COVE_TRY(limit_swap(bytes + swap));
  return poke_at(folder, "memory.limit_in_bytes", concat(bytes));
}

Result<void> V1Group::limit_swap(uint64_t memory_and_swap) const {
  int folder = folder_with(parts_, kMemory);
  Result<void> limited = poke_at(folder, "memory.memsw.limit_in_bytes", concat(memory_and_swap));
  if (limited || limited.error().errnum() != ENOENT) return limited;
  static_cast<void>(poke_at(folder, "memory.swappiness", "0"));  // the best available without swap accounting
  return {};
}

Result<void> V1Group::set_pids(uint64_t count) {
  return poke_at(COVE_TRY(folder_of(Controller::Pids, kPids)), "pids.max", concat(count));
}

Result<void> V1Group::set_io(const std::string& device, uint64_t read, uint64_t write) {
  int folder = COVE_TRY(folder_of(Controller::Io, kBlkio));
  COVE_TRY(poke_at(folder, "blkio.throttle.read_bps_device", concat(device, " ", read)));
  return poke_at(folder, "blkio.throttle.write_bps_device", concat(device, " ", write));
}

Result<void> V1Group::freeze_within(std::chrono::milliseconds patience) {
  int folder = COVE_TRY(folder_of(Controller::Freezer, kFreezer));
  auto stands_still = [&]() -> Result<bool> {
    return trim(COVE_TRY(read_file_at(folder, "freezer.state"))) == "FROZEN";
  };
  // A task that forks at the wrong moment can keep the group in state FREEZING forever: thaw briefly and try again.
  constexpr std::chrono::milliseconds kAttempt(20);
  for (auto left = patience; left.count() > 0; left -= kAttempt) {
    COVE_TRY(poke_at(folder, "freezer.state", "FROZEN"));
    if (COVE_TRY(wait_until(std::min(kAttempt, left), stands_still))) return {};
    COVE_TRY(thaw());
  }
  return fail(Code::Unavailable, concat("freeze cgroup ", name_, ": some tasks do not stop"));
}

Result<void> V1Group::thaw() {
  return poke_at(COVE_TRY(folder_of(Controller::Freezer, kFreezer)), "freezer.state", "THAWED");
}

Result<void> V1Group::kill() {
  if (parts_.empty()) return {};
  bool frozen = has(Controller::Freezer) && freeze_within(kKillFreezeTimeout).has_value();
  if (!frozen && has(Controller::Pids)) COVE_TRY(set_pids(0));
  Result<void> killed = kill_everything(any_folder(), "tasks");
  if (!has(Controller::Freezer)) return killed;
  // The signals take effect after the thaw, including in groups below that were frozen separately.
  COVE_TRY(visit_groups(any_folder(), [](int group) { return poke_at(group, "freezer.state", "THAWED"); }));
  return killed;
}

Result<bool> V1Group::populated() const {
  if (parts_.empty()) return false;
  bool any = false;
  auto look = [&](int group) -> Result<void> {
    any = any || !COVE_TRY(read_file_at(group, "tasks", 1)).empty();
    return {};
  };
  COVE_TRY(visit_groups(any_folder(), look));
  return any;
}

Result<std::vector<UniqueFd>> V1Group::open_join_fds() const {
  std::vector<UniqueFd> fds;
  // Not cgroup.procs: it stops the forks of the whole machine for some milliseconds.
  for (const std::vector<V1Part>* parts : {&parts_, &around_})
    for (const V1Part& part : *parts) fds.push_back(COVE_TRY(openat(part.folder.get(), "tasks", O_WRONLY)));
  return fds;
}

Result<CgroupUsage> V1Group::usage() const {
  if (open_) return read_counters(*open_);
  CgroupUsage usage;
  COVE_TRY(count_cpu(usage));
  COVE_TRY(count_memory(usage));
  COVE_TRY(count_pids(usage));
  COVE_TRY(count_io(usage));
  return usage;
}

void V1Group::keep_counters_open() {
  int cpuacct = folder_with(parts_, kCpuacct);
  int memory = folder_with(parts_, kMemory);
  int pids = folder_with(parts_, kPids);
  if (cpuacct < 0 || memory < 0 || pids < 0 || folder_with(parts_, kBlkio) >= 0) return;
  bool all = true;
  auto open = [&](int folder, const char* file) {
    UniqueFd fd(::openat(folder, file, O_RDONLY | O_CLOEXEC));
    all = all && fd;
    return fd;
  };
  OpenCounters counters = {
      open(cpuacct, "cpuacct.usage"),     open(cpuacct, "cpuacct.usage_all"), open(memory, "memory.max_usage_in_bytes"),
      open(memory, "memory.oom_control"), open(pids, "pids.current"),         open(pids, "pids.peak"),
      open(pids, "pids.events")};
  if (all) open_ = std::move(counters);
}

CgroupUsage V1Group::read_counters(const OpenCounters& open) {
  char buffer[16384];  // cpuacct.usage_all has a line for each CPU
  auto text = [&](const UniqueFd& fd) {
    ssize_t size = ::pread(fd.get(), buffer, sizeof buffer, 0);
    return std::string_view(buffer, size > 0 ? static_cast<size_t>(size) : 0);
  };
  CgroupUsage usage;
  auto [user, system] = sum_over_cpus(text(open.cpu_split));
  split_cpu_time(leading_number(text(open.cpu)), user, system, usage);
  usage.memory_peak_bytes = leading_number(text(open.memory_peak));
  usage.oom_kills = keyed_number(text(open.oom), "oom_kill");
  usage.pids = leading_number(text(open.pids));
  usage.pids_peak = leading_number(text(open.pids_peak));
  usage.pids_refused = keyed_number(text(open.pids_events), "max");
  return usage;
}

Result<void> V1Group::count_cpu(CgroupUsage& usage) const {
  int folder = folder_with(parts_, kCpuacct);
  if (folder < 0) return {};
  uint64_t total = COVE_TRY(read_number(folder, "cpuacct.usage"));
  split_cpu_time(total, read_number_or(folder, "cpuacct.usage_user", 0), read_number_or(folder, "cpuacct.usage_sys", 0),
                 usage);
  return {};
}

Result<void> V1Group::count_memory(CgroupUsage& usage) const {
  int folder = folder_with(parts_, kMemory);
  if (folder < 0) return {};
  usage.memory_bytes = COVE_TRY(read_number(folder, "memory.usage_in_bytes"));
  usage.memory_peak_bytes = COVE_TRY(read_number(folder, "memory.max_usage_in_bytes"));
  // The kernel counts a kill in the victim's own group only.
  usage.oom_kills = COVE_TRY(sum_of_keyed(folder, "memory.oom_control", "oom_kill"));
  return {};
}

Result<void> V1Group::count_pids(CgroupUsage& usage) const {
  int folder = folder_with(parts_, kPids);
  if (folder < 0) return {};
  usage.pids = COVE_TRY(read_number(folder, "pids.current"));
  usage.pids_peak = read_number_or(folder, "pids.peak", pids_seen_.show(usage.pids));
  usage.pids_refused = COVE_TRY(sum_of_keyed(folder, "pids.events", "max"));
  return {};
}

Result<void> V1Group::count_io(CgroupUsage& usage) const {
  int folder = folder_with(parts_, kBlkio);
  if (folder < 0) return {};
  Result<std::string> bytes = read_file_at(folder, "blkio.throttle.io_service_bytes_recursive");
  if (!bytes) bytes = read_file_at(folder, "blkio.throttle.io_service_bytes");
  if (bytes) add_io_service_bytes(*bytes, usage);
  return {};
}

// The first part last, because leftovers of a group are found by it.
Result<void> V1Group::remove() {
  std::vector<V1Part> left;
  Result<void> removed;
  for (V1Part& part : std::views::reverse(parts_)) {
    Result<void> one = remove_part(part, name_);
    if (one) continue;
    if (removed) removed = fail(std::move(one).error().note(concat("remove cgroup ", name_)));
    left.push_back(std::move(part));
  }
  std::ranges::reverse(left);
  parts_ = std::move(left);
  return removed;
}

Result<std::unique_ptr<Cgroup>> V1Group::create_child(const std::string& name) {
  COVE_TRY(check_group_name(name));
  std::unique_ptr<V1Group> child = COVE_TRY(make(parts_, name, kOfChildren));
  const int memory = folder_with(child->parts_, kMemory);
  if (memory >= 0) COVE_TRY(limit_sockets(memory, kAsTheParent));
  COVE_TRY(join_around(*child));
  return child;
}

Result<std::unique_ptr<Cgroup>> V1Group::adopt_child(const std::string& name) {
  COVE_TRY(check_group_name(name));
  std::vector<V1Part> parts;
  for (const V1Part& part : parts_) {
    if (!wanted_part(part, kOfChildren)) continue;
    Result<UniqueFd> folder = open_group(part.folder.get(), name);
    if (!folder && folder.error().errnum() == ENOENT) continue;
    if (!folder) return fail(std::move(folder).error().note("adopt a cgroup"));
    parts.push_back({part.subsystems, std::move(*folder)});
  }
  if (parts.empty()) return fail(Code::NotFound, concat("no such cgroup in ", name_, ": ", name));
  auto child = std::make_unique<V1Group>(name, std::move(parts));
  COVE_TRY(join_around(*child));
  return child;
}

Result<void> V1Group::join_around(V1Group& child) const {
  for (const V1Part& part : parts_)
    if (!wanted_part(part, kOfChildren)) child.around_.push_back({part.subsystems, COVE_TRY(dup(part.folder.get()))});
  return {};
}

Cgroup::Parts V1Group::parts() const {
  Parts all{1, {}, {}};
  for (const V1Part& part : parts_) {
    all.kinds.push_back(part.subsystems);
    all.folders.push_back(part.folder.get());
  }
  return all;
}

void split_cpu_time(uint64_t total_ns, uint64_t user_ticks, uint64_t system_ticks, CgroupUsage& usage) {
  uint64_t total_us = total_ns / 1000;
  double ticks = static_cast<double>(user_ticks) + static_cast<double>(system_ticks);
  double user_share = ticks > 0 ? static_cast<double>(user_ticks) / ticks : 1;
  usage.cpu_user_us = std::min(total_us, static_cast<uint64_t>(static_cast<double>(total_us) * user_share));
  usage.cpu_system_us = total_us - usage.cpu_user_us;
}

void add_io_service_bytes(std::string_view text, CgroupUsage& usage) {
  for (const std::string& line : split(text, '\n')) {
    std::string_view counted = line;
    counted.remove_prefix(std::min(counted.find(' ') + 1, counted.size()));
    usage.io_read_bytes += keyed_number(counted, "Read");
    usage.io_write_bytes += keyed_number(counted, "Write");
  }
}

}  // namespace cove::sys
