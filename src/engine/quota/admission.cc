#include "engine/quota/admission.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "model/limit_fields.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

// What is left for the rest of the machine.
constexpr uint64_t kLeastMemory = 256 * kMiB;
constexpr uint64_t kLeastDisk = 1 * kGiB;

// Without a limit it may use all that there is.
uint64_t counted_memory(uint64_t limit) {
  static const uint64_t kAll = measure_room("/").memory;
  return limit > 0 ? limit : kAll;
}

uint64_t disk_of(const Limits& limits) { return limits.disk.value > 0 ? limits.disk.value : kDefaultDisk; }

struct Check {
  const char* what;
  uint64_t used;
  uint64_t wanted;
  uint64_t most;  // 0: any
  bool bytes;
};

std::string describe(const Check& check, const std::string& whose) {
  if (!check.bytes) return concat(whose, " has ", check.used, " of at most ", check.most, " sandboxes");
  return concat("the ", check.what, " limits", check.what == std::string_view("disk") ? " and kept output" : "", " of ",
                whose, "'s sandboxes would be ", format_bytes(check.used + check.wanted), " together, of at most ",
                format_bytes(check.most));
}

Result<void> check_all(std::initializer_list<Check> checks, const std::string& whose) {
  for (const Check& check : checks)
    if (check.most > 0 && check.used + check.wanted > check.most)
      return fail(Error(Code::Exhausted, describe(check, whose))
                      .hint("delete or stop sandboxes that are not needed, or ask for smaller limits"));
  return {};
}

void replace(Numbers& numbers, const Limits& before, const Limits& after, Admission::Memory memory) {
  if (memory == Admission::Memory::Used)
    numbers.memory +=
        counted_memory(after.memory.value) - std::min(counted_memory(before.memory.value), numbers.memory);
  numbers.disk += disk_of(after) - std::min(disk_of(before), numbers.disk);
}

uint64_t meminfo(const std::string& text, const char* name) {
  size_t at = text.find(name);
  unsigned long long kib = 0;
  if (at == text.npos || std::sscanf(text.c_str() + at + std::char_traits<char>::length(name), ": %llu", &kib) != 1)
    return 0;
  return kib * 1024;
}

}  // namespace

MachineRoom RoomGauge::read(std::chrono::milliseconds oldest) {
  {
    std::lock_guard lock(mutex_);
    if (clock_.now() - measured_ < oldest && room_.memory > 0) return room_;
  }
  return measure();
}

MachineRoom RoomGauge::measure() {
  MachineRoom room = measure_(state_);
  std::lock_guard lock(mutex_);
  measured_ = clock_.now();
  return room_ = room;
}

MachineRoom measure_room(const std::string& state) {
  MachineRoom room;
  std::string text = sys::read_file("/proc/meminfo").value_or("");
  room.memory = meminfo(text, "MemTotal");
  room.memory_available = meminfo(text, "MemAvailable");
  struct statvfs info = {};
  if (::statvfs(state.c_str(), &info) == 0) {
    room.disk = static_cast<uint64_t>(info.f_blocks) * info.f_frsize;
    room.disk_free = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  }
  return room;
}

Result<void> Admission::enter(const std::string& project, const Config::Quotas& quotas, const Limits& limits,
                              const MachineRoom& room) {
  std::lock_guard lock(mutex_);
  Numbers& own = projects_[project];
  const uint64_t disk = disk_of(limits), memory = counted_memory(limits.memory.value);
  Result<void> allowed = check_all({{"", own.sandboxes, 1, quotas.sandboxes, false},
                                    {"memory", own.memory, memory, quotas.memory, true},
                                    {"disk", own.disk + kept_logs(project), disk, quotas.disk, true}},
                                   concat("project ", project));
  if (allowed)
    allowed = check_all({{"", all_.sandboxes, 1, config_.admission.sandboxes, false},
                         {"memory", all_.memory, memory, config_.admission.memory, true},
                         {"disk", all_.disk + kept_logs(""), disk, config_.admission.disk, true}},
                        "the server");
  uint64_t least_memory = std::max(kLeastMemory, room.memory / 20);
  if (allowed && config_.admission.memory == 0 && room.memory > 0 && room.memory_available < least_memory)
    allowed = fail(
        Error(Code::Exhausted, concat("the machine has only ", format_bytes(room.memory_available), " of memory left"))
            .hint("delete or stop sandboxes that are not needed"));
  if (allowed && config_.admission.disk == 0 && room.disk > 0 && room.disk_free < kLeastDisk)
    allowed =
        fail(Error(Code::Exhausted, concat("the machine has only ", format_bytes(room.disk_free), " of disk left"))
                 .hint("delete sandboxes that are not needed, or free some disk"));
  if (!allowed) {
    ++refusals_;
    return allowed;
  }
  for (Numbers* numbers : {&own, &all_}) {
    numbers->sandboxes += 1;
    numbers->memory += memory;
    numbers->disk += disk;
  }
  return {};
}

Admission::MissingDisk Admission::missing_disk(const std::string& project, const Config::Quotas& quotas,
                                               const Limits& limits) const {
  std::lock_guard lock(mutex_);
  auto found = projects_.find(project);
  const uint64_t own = (found == projects_.end() ? 0 : found->second.disk) + kept_logs(project);
  const uint64_t wanted = disk_of(limits), all = all_.disk + kept_logs("");
  auto missing = [&](uint64_t used, uint64_t most) {
    return most > 0 && used + wanted > most ? used + wanted - most : 0;
  };
  return {missing(own, quotas.disk), missing(all, config_.admission.disk)};
}

Result<void> Admission::take_memory(const std::string& project, const Config::Quotas& quotas, uint64_t limit) {
  const uint64_t bytes = counted_memory(limit);
  std::lock_guard lock(mutex_);
  Numbers& own = projects_[project];
  Result<void> allowed = check_all({{"memory", own.memory, bytes, quotas.memory, true}}, concat("project ", project));
  if (allowed) allowed = check_all({{"memory", all_.memory, bytes, config_.admission.memory, true}}, "the server");
  if (!allowed) return ++refusals_, allowed;
  own.memory += bytes;
  all_.memory += bytes;
  return {};
}

void Admission::give_memory(const std::string& project, uint64_t limit) {
  const uint64_t bytes = counted_memory(limit);
  std::lock_guard lock(mutex_);
  for (Numbers* numbers : {&projects_[project], &all_}) numbers->memory -= std::min(bytes, numbers->memory);
}

Result<void> Admission::change(const std::string& project, const Config::Quotas& quotas, const Limits& before,
                               const Limits& after, Memory memory) {
  auto growth = [](uint64_t from, uint64_t to) { return to > from ? to - from : 0; };
  const uint64_t more_memory =
      memory == Memory::Used ? growth(counted_memory(before.memory.value), counted_memory(after.memory.value)) : 0;
  const uint64_t more_disk = growth(disk_of(before), disk_of(after));
  std::lock_guard lock(mutex_);
  Numbers& own = projects_[project];
  auto check = [&](const Numbers& now, uint64_t most_memory, uint64_t most_disk, const std::string& whose) {
    return check_all({{"memory", now.memory, more_memory, more_memory > 0 ? most_memory : 0, true},
                      {"disk", now.disk, more_disk, more_disk > 0 ? most_disk : 0, true}},
                     whose);
  };
  Result<void> allowed = check(own, quotas.memory, quotas.disk, concat("project ", project));
  if (allowed) allowed = check(all_, config_.admission.memory, config_.admission.disk, "the server");
  if (!allowed) return ++refusals_, allowed;
  for (Numbers* numbers : {&own, &all_}) replace(*numbers, before, after, memory);
  return {};
}

void Admission::change_back(const std::string& project, const Limits& before, const Limits& after, Memory memory) {
  std::lock_guard lock(mutex_);
  for (Numbers* numbers : {&projects_[project], &all_}) replace(*numbers, after, before, memory);
}

void Admission::count(const std::string& project, const Limits& limits, Memory memory) {
  std::lock_guard lock(mutex_);
  for (Numbers* numbers : {&projects_[project], &all_}) {
    numbers->sandboxes += 1;
    if (memory == Memory::Used) numbers->memory += counted_memory(limits.memory.value);
    numbers->disk += disk_of(limits);
  }
}

void Admission::leave(const std::string& project, const Limits& limits, Memory memory) {
  std::lock_guard lock(mutex_);
  for (Numbers* numbers : {&projects_[project], &all_}) {
    numbers->sandboxes -= std::min<uint64_t>(1, numbers->sandboxes);
    if (memory == Memory::Used) numbers->memory -= std::min(counted_memory(limits.memory.value), numbers->memory);
    numbers->disk -= std::min(disk_of(limits), numbers->disk);
  }
}

std::shared_ptr<LogBudget::Counter> Admission::logs_of(const std::string& project) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<LogBudget::Counter>& counter = logs_[project];
  if (!counter) counter = std::make_shared<LogBudget::Counter>(0);
  return counter;
}

uint64_t Admission::kept_logs(const std::string& project) const {
  uint64_t bytes = 0;
  for (const auto& [name, counter] : logs_)
    if (project.empty() || name == project) bytes += *counter;
  return bytes;
}

Numbers Admission::numbers(const std::string& project) const {
  std::lock_guard lock(mutex_);
  auto found = projects_.find(project);
  Numbers numbers = project.empty() ? all_ : found == projects_.end() ? Numbers() : found->second;
  numbers.logs = kept_logs(project);
  return numbers;
}

uint64_t Admission::refusals() const {
  std::lock_guard lock(mutex_);
  return refusals_;
}

std::string_view lifted_limit(const Limits& limits) {
  std::string_view lifted;
  auto look = [&](const LimitField& field, const auto& limit) {
    const bool lifts = limit.named && to_number(limit.value) == 0 && field.zero == LimitZero::UnlimitedForLocal;
    if (lifts && lifted.empty()) lifted = field.name;
  };
  visit_limits(look, limits);
  return lifted;
}

Result<void> check_limits(const Caller& caller, const Maxima& maxima, const Limits& limits) {
  if (caller.local) return {};
  if (std::string_view lifted = lifted_limit(limits); !lifted.empty())
    return fail(
        Error(Code::Denied, concat("the limit '", lifted, "' can be taken away (0) only at the server's Unix socket"))
            .hint("name what is needed, or leave it out")
            .at(concat("/limits/", lifted)));
  Result<void> allowed;
  auto check = [&](const LimitField& field, const auto& limit, const auto& most) {
    if (!allowed || to_number(most.value) == 0 || !limit.named || limit.value <= most.value) return;
    allowed = fail(Error(Code::Denied, concat("the limit '", field.name, "' may be at most ",
                                              limit_text(field, most.value), " on this server"))
                       .hint(concat("ask for less, or have the administrator raise maxima.", field.name))
                       .at(concat("/limits/", field.name)));
  };
  visit_limits(check, limits, maxima.most);
  return allowed;
}

Result<void> check_nesting(const Caller& caller, const SandboxSpec& spec) {
  if (!spec.nesting || caller.local || caller.scopes.allow(Scope::Admin)) return {};
  return fail(Error(Code::Denied, "'nesting' needs the scope 'admin'")
                  .hint("leave it out, or use a key with that scope or the server's Unix socket")
                  .at("/nesting"));
}

}  // namespace cove::engine
