#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "auth/caller.h"
#include "base/result.h"
#include "config/config.h"
#include "engine/exec/log_budget.h"
#include "engine/sandbox_info.h"

namespace cove::engine {

// What the machine has left.
struct MachineRoom {
  uint64_t memory = 0;  // total
  uint64_t memory_available = 0;
  uint64_t disk = 0;  // of the file system with the state folder
  uint64_t disk_free = 0;
};
MachineRoom measure_room(const std::string& state);

// The same, measured a moment ago if it was. Thread-safe.
class RoomGauge {
 public:
  explicit RoomGauge(std::string state) : state_(std::move(state)) {}
  // As it was lately.
  MachineRoom read() { return read(kFresh); }
  // So that `read` need not measure in the next moments.
  void refresh() { static_cast<void>(read(kFresh / 2)); }
  MachineRoom measure();

 private:
  static constexpr std::chrono::milliseconds kFresh{250};
  MachineRoom read(std::chrono::milliseconds oldest);

  const std::string state_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point measured_;
  MachineRoom room_;
};

// Decides whether one more sandbox may run. Sums of limits are held against what the administrator configured, for the
// server and for each project; where he configured nothing, what the machine really has left decides, because a limit
// is rarely used up. No limit counts as the whole machine's memory. Thread-safe.
class Admission {
 public:
  Admission(const Config& config) : config_(config) {}

  // Exhausted, with which limit it is. What is let in counts until `leave`.
  Result<void> enter(const std::string& project, const Config::Quotas& quotas, const Limits& limits,
                     const MachineRoom& room);
  enum class Memory { Used, Unused };
  void leave(const std::string& project, const Limits& limits, Memory memory);
  // A stopped sandbox uses no memory; one that is started again must find room for it.
  Result<void> take_memory(const std::string& project, const Config::Quotas& quotas, uint64_t limit);
  void give_memory(const std::string& project, uint64_t limit);
  // Of a sandbox that was let in before: what grows must find room, what shrinks gives some.
  Result<void> change(const std::string& project, const Config::Quotas& quotas, const Limits& before,
                      const Limits& after, Memory memory);
  void change_back(const std::string& project, const Limits& before, const Limits& after, Memory memory);
  // What is there already after a restart of the server.
  void count(const std::string& project, const Limits& limits, Memory memory);

  // What is kept of the output of its execs, which counts to its disk; LogBudgets keep it up to date.
  // How many bytes of disk are missing for a sandbox with these limits: of the project, and of the server.
  struct MissingDisk {
    uint64_t project = 0;
    uint64_t server = 0;
  };
  MissingDisk missing_disk(const std::string& project, const Config::Quotas& quotas, const Limits& limits) const;
  std::shared_ptr<LogBudget::Counter> logs_of(const std::string& project);

  Numbers numbers(const std::string& project) const;  // empty: all
  uint64_t refusals() const;

 private:
  const Config& config_;
  mutable std::mutex mutex_;
  uint64_t kept_logs(const std::string& project) const;  // empty: of all

  std::map<std::string, Numbers> projects_;
  std::map<std::string, std::shared_ptr<LogBudget::Counter>> logs_;
  Numbers all_;
  uint64_t refusals_ = 0;
};

// The limit that is to be none (0), of those that protect the machine; null where there is no such.
const char* lifted_limit(const Limits& limits);
// Whether the caller may have that; Denied. Over the network no limit that protects the machine is taken away, and none
// is above the maxima that the administrator has set.
Result<void> check_limits(const Caller& caller, const Config::Maxima& maxima, const Limits& limits);
// Nesting opens more of the kernel: with a key it takes the scope admin. Denied.
Result<void> check_nesting(const Caller& caller, const SandboxSpec& spec);

}  // namespace cove::engine
