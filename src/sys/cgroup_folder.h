#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

// One folder of a cgroup file system: the code that v1 and v2 share.
namespace cove::sys {

class ControllerSet {
 public:
  ControllerSet() = default;
  explicit ControllerSet(const std::vector<Controller>& controllers) {
    for (Controller controller : controllers) add(controller);
  }
  void add(Controller controller) { bits_ |= bit(controller); }
  explicit ControllerSet(unsigned bits) : bits_(bits) {}
  bool has(Controller controller) const { return (bits_ & bit(controller)) != 0; }
  unsigned bits() const { return bits_; }

 private:
  static unsigned bit(Controller controller) { return 1u << static_cast<unsigned>(controller); }
  unsigned bits_ = 0;
};

// Invalid unless `CgroupTree::create` accepts the name.
Result<void> check_group_name(const std::string& name);

Result<UniqueFd> open_group(int parent, const std::string& name);
Result<UniqueFd> make_group(int parent, const std::string& name);
// rmdir of the group and all below it. Succeeds if it is gone; Unavailable if it contains processes.
Result<void> remove_group(int parent, const std::string& name);
Result<std::vector<std::string>> child_groups(int folder);
// Calls `visit` with the folder and with each folder below it; skips folders that vanish meanwhile.
using Visit = std::function<Result<void>(int folder)>;
Result<void> visit_groups(int folder, const Visit& visit);

// The number at the start of a string; 0 if there is none.
uint64_t leading_number(std::string_view text);
Result<uint64_t> read_number(int folder, const std::string& file);
// The number in a file that older kernels lack, else `otherwise`.
uint64_t read_number_or(int folder, const std::string& file, uint64_t otherwise);
// The number after `key` in lines of "key number"; 0 if there is none.
uint64_t keyed_number(std::string_view text, std::string_view key);
// The sum of that number over the group and all below it.
Result<uint64_t> sum_of_keyed(int folder, const std::string& file, std::string_view key);

// Of CPUs as the kernel lists them ("0-3,6"), so many, others for each call, listed the same way; 0: all of them.
std::string choose_cpus(std::string_view list, unsigned count);

// SIGKILL to each process that `file` lists in the group and below, until no new ones appear.
Result<void> kill_everything(int folder, const std::string& file);

// Polls `done` at increasing intervals until it is true; false if `patience` has passed.
Result<bool> wait_until(std::chrono::milliseconds patience, const std::function<Result<bool>()>& done);

// Remembers the highest value that it was given; thread-safe.
class HighestSeen {
 public:
  uint64_t show(uint64_t value) {
    uint64_t highest = highest_.load();
    while (highest < value && !highest_.compare_exchange_weak(highest, value)) {
    }
    return std::max(highest, value);
  }

 private:
  std::atomic<uint64_t> highest_ = 0;
};

inline constexpr std::chrono::milliseconds kFreezeTimeout{2000};
// How long `kill` waits for a freeze before it continues without.
inline constexpr std::chrono::milliseconds kKillFreezeTimeout{300};

// "quota" of a period of 100 ms, in microseconds.
inline constexpr uint64_t kCpuPeriodUs = 100'000;
Result<uint64_t> cpu_quota_us(double cpus);

std::unexpected<Error> missing_controller(Controller controller, std::string hint);
std::unexpected<Error> uncounted_swap();

}  // namespace cove::sys
