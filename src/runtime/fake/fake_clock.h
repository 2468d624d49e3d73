#pragma once

#include <list>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace cove::fake {

// A clock that stays where it is until it is moved. It begins now, so that times from elsewhere fit to its own.
class FakeClock : public Clock {
 public:
  FakeClock();
  int64_t now_us() const override;
  Time now() const override;
  void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Time until) override;
  std::shared_ptr<void> on_jump(std::function<void()> call) override;

  // How many threads wait for it.
  size_t waiting() const;
  // Moves it and wakes all who wait, so that they look at it.
  void move(std::chrono::microseconds by);
  // The same, and returns when each of them has done its work and waits again. Aborts where one does not within a
  // minute: where they may be held up, or end, use `move`.
  void advance(std::chrono::microseconds by);

 private:
  struct Waiter {
    std::thread::id thread;
    std::mutex* mutex;
    std::condition_variable* changed;
  };

  void wake(const std::vector<Waiter>& waiters);

  mutable std::mutex mutex_;
  std::condition_variable came_back_;
  std::chrono::microseconds moved_{0};
  const int64_t begin_us_;
  std::list<Waiter> waiters_;
  std::set<std::thread::id> at_work_;  // woken, and not waiting again
  // Also held while they are called, so that none is called that has been taken back.
  std::mutex jumps_mutex_;
  std::map<uint64_t, std::function<void()>> jumps_;
  uint64_t next_jump_ = 1;
};

}  // namespace cove::fake
