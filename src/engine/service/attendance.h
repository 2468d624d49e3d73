#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/exec/exec.h"

namespace cove::engine {

// Execs that were started with `on_disconnect: kill` and are attended to over other connections than the one that
// started them: each is killed when the last of these breaks, or when none comes in time. Thread-safe.
class Attendance {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{30};  // for the first to attend

  void expect(const std::shared_ptr<Exec>& exec, Clock::time_point now = Clock::now());

  // Execs that nobody expects here may be named, too: nothing happens then.
  void begin(const std::string& exec);
  enum class Parting { Orderly, Lost };
  void end(const std::string& exec, Parting parting);

  // To be called now and then.
  void sweep(Clock::time_point now = Clock::now());

 private:
  struct Expected {
    std::weak_ptr<Exec> exec;
    Clock::time_point deadline;
    int attending = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Expected> execs_;
};

}  // namespace cove::engine
