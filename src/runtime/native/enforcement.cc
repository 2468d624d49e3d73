#include "runtime/native/enforcement.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace cove::native {
namespace {

std::string format_cpus(double cpus) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", cpus);
  return text;
}

void hold_open_files(Holding& holding, const Limit<uint64_t>& limit) {
  const uint64_t hard = limit.named ? limit.value : std::max(limit.value, kOpenFilesHard);
  holding.rlimits.push_back({RLIMIT_NOFILE, limit.value, hard});
  holding.limits["open_files"] = {std::to_string(limit.value), "rlimit"};
}

void hold_file_size(Holding& holding, const Limit<uint64_t>& limit) {
  if (limit.value == 0) return;
  holding.rlimits.push_back({RLIMIT_FSIZE, limit.value, limit.value});
  holding.limits["file_size"] = {format_bytes(limit.value), "rlimit"};
}

class Planner {
 public:
  Planner(const Limits& limits, const Means& means, Strictness strictness)
      : limits_(limits), means_(means), strictness_(strictness) {}

  Result<Holding> plan() {
    COVE_TRY(plan_cpus());
    COVE_TRY(plan_memory());
    COVE_TRY(plan_swap());
    COVE_TRY(plan_processes());
    COVE_TRY(plan_io());
    plan_disk();
    plan_rlimits();
    plan_clock_and_output();
    plan_warning();
    return std::move(holding_);
  }

 private:
  void hold(const std::string& name, std::string value, std::string by) {
    holding_.limits[name] = {std::move(value), std::move(by)};
  }

  // The kernel's own mechanism is not available: fails, or records the fallback.
  Result<void> fall_back(const std::string& name, const std::string& value, bool named, const std::string& by) {
    if (named || strictness_ == Strictness::Strict)
      return fail(Error(Code::Unsupported,
                        concat("limit ", name, " to ", value, ": control groups are required, and ", means_.why_not))
                      .hint(means_.hint));
    fallen_back_.push_back(concat(name, " ", value, " by ", by));
    hold(name, value, by);
    return {};
  }

  void plan_warning() {
    if (fallen_back_.empty()) return;
    holding_.warnings.push_back(
        concat("default limits are enforced without control groups (", join(fallen_back_, ", "),
               "), because this user cannot create any; `cove doctor` shows how to change that"));
  }

  Result<void> plan_cpus() {
    double cpus = limits_.cpus.value;
    if (cpus <= 0) return {};
    if (means_.cpu) return hold("cpus", format_cpus(cpus), "cgroup"), Result<void>();
    COVE_TRY(fall_back("cpus", format_cpus(cpus), limits_.cpus.named, "affinity"));
    holding_.pinned_cpus = static_cast<unsigned>(std::ceil(cpus));
    return {};
  }

  Result<void> plan_memory() {
    uint64_t bytes = limits_.memory.value;
    if (bytes == 0) return {};
    if (means_.memory) return hold("memory", format_bytes(bytes), "cgroup"), Result<void>();
    // With nesting the watcher only stops accidents: a program can evade it.
    COVE_TRY(fall_back("memory", format_bytes(bytes), limits_.memory.named, means_.nesting ? "nothing" : "watcher"));
    holding_.watched_memory = bytes;
    holding_.rlimits.push_back({RLIMIT_DATA, bytes, bytes});
    return {};
  }

  Result<void> plan_swap() {
    uint64_t bytes = limits_.swap.value;
    if (bytes == 0) return {};
    const std::string value = format_bytes(bytes);
    if (limits_.memory.value == 0) return refuse_swap(value, "it goes with a limit of memory", "name one");
    if (means_.memory && means_.swap) return hold("swap", value, "cgroup"), Result<void>();
    if (!means_.memory) return fall_back("swap", value, limits_.swap.named, "nothing");
    if (limits_.swap.named || strictness_ == Strictness::Strict)
      return refuse_swap(value, "this kernel does not count swap", "start the kernel with swapaccount=1");
    return {};  // none is used
  }

  static std::unexpected<Error> refuse_swap(const std::string& value, std::string_view why, std::string hint) {
    return fail(Error(Code::Unsupported, concat("limit swap to ", value, ": ", why)).hint(std::move(hint)));
  }

  Result<void> plan_processes() {
    uint64_t count = limits_.processes.value;
    if (count == 0) return {};
    if (means_.processes) return hold("processes", std::to_string(count), "cgroup"), Result<void>();
    if (!means_.nested_ids) return fall_back("processes", std::to_string(count), limits_.processes.named, "nothing");
    hold("processes", std::to_string(count), "rlimit");
    holding_.process_rlimit = count;
    return {};
  }

  Result<void> plan_io() {
    for (auto [name, limit] : {std::pair{"io_read", &limits_.io_read}, std::pair{"io_write", &limits_.io_write}}) {
      if (limit->value == 0) continue;
      std::string value = format_bytes(limit->value) + "/s";
      if (means_.io)
        hold(name, value, "cgroup");
      else
        COVE_TRY(fall_back(name, value, limit->named, "nothing"));
    }
    return {};
  }

  void plan_disk() {
    const char* by = means_.layer == LayerKind::Memory ? "tmpfs" : means_.quota ? "quota" : "nothing";
    hold("disk", format_bytes(limits_.disk.value), by);
  }

  void plan_rlimits() {
    hold_open_files(holding_, limits_.open_files);
    holding_.rlimits.push_back({RLIMIT_CORE, 0, 0});
    hold_file_size(holding_, limits_.file_size);
  }

  void plan_clock_and_output() {
    if (limits_.timeout.value.count() > 0) hold("timeout", concat(limits_.timeout.value.count(), " ms"), "timer");
    if (limits_.output.value > 0) hold("output", format_bytes(limits_.output.value), "counter");
  }

  const Limits& limits_;
  const Means& means_;
  Strictness strictness_;
  Holding holding_;
  std::vector<std::string> fallen_back_;
};

}  // namespace

uint64_t swap_for(const sys::Cgroup& group, const Limits& limits) {
  return limits.swap.named || group.counts_swap() ? limits.swap.value : 0;
}

unsigned visible_cpus(const Limits& limits) {
  return limits.cpus.named ? static_cast<unsigned>(std::ceil(limits.cpus.value)) : 0;
}

void change_rlimits(Holding& holding, const Limits& limits) {
  auto drop = [&](uint64_t resource) {
    std::erase_if(holding.rlimits, [&](const wire::Rlimit& each) { return each.resource == resource; });
  };
  if (limits.open_files.named) drop(RLIMIT_NOFILE), hold_open_files(holding, limits.open_files);
  if (!limits.file_size.named) return;
  drop(RLIMIT_FSIZE);
  holding.limits.erase("file_size");
  hold_file_size(holding, limits.file_size);
}

Result<Holding> plan_enforcement(const Limits& limits, const Means& means, Strictness strictness) {
  return Planner(limits, means, strictness).plan();
}

}  // namespace cove::native
