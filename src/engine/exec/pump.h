#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::engine {

// One thread that waits for many descriptors and times.
class Pump {
 public:
  // Called by the pump's thread; must not block for long.
  struct Source {
    virtual ~Source() = default;
    virtual void on_ready(int which) = 0;
    virtual void on_time() = 0;
  };

  // The clock must outlive it.
  static Result<std::unique_ptr<Pump>> create(Clock& clock);
  ~Pump() { stop(); }

  // Nobody is called any more; the other calls stay allowed.
  void stop();

  // Calls source->on_ready(which) once when the descriptor is readable or closed; again after `rearm`. The token is
  // good until `unwatch`, which must come before the descriptor is closed. Any thread.
  Result<uint64_t> watch(int fd, std::weak_ptr<Source> source, int which);
  void rearm(uint64_t token, int fd);
  void unwatch(uint64_t token, int fd);
  void wake_at(Clock::Time time, std::weak_ptr<Source> source);

 private:
  struct Watched {
    std::weak_ptr<Source> source;
    int which;
  };
  explicit Pump(Clock& clock) : clock_(clock) {}
  void run();
  int patience();
  void call_those_due();
  void call(uint64_t token);

  Clock& clock_;
  UniqueFd poll_;
  UniqueFd wake_;
  std::shared_ptr<void> jumps_;
  std::mutex mutex_;
  std::map<uint64_t, Watched> watched_;
  std::multimap<Clock::Time, std::weak_ptr<Source>> times_;
  uint64_t next_token_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cove::engine
