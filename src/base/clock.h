#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace cove {

// The time, as it is given to what acts on it: the machine's, or one that tests move by hand. Thread-safe.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;

  // Since 1970, as records and events have it.
  virtual int64_t now_us() const = 0;
  int64_t now_ms() const { return now_us() / 1000; }
  // For durations: it never goes back.
  virtual Time now() const = 0;

  // Returns at that time, when `changed` is notified, or for no reason.
  virtual void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Time until) = 0;
  // For those who wait by other means: called after the time has jumped, as the machine's never does, for as long as
  // what is returned exists.
  virtual std::shared_ptr<void> on_jump(std::function<void()> call) = 0;
};

std::shared_ptr<Clock> machine_clock();

}  // namespace cove
