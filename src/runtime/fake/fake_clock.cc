#include "runtime/fake/fake_clock.h"

#include <cstdlib>
#include <vector>

#include "base/log.h"

namespace cove::fake {
namespace {

constexpr std::chrono::hours kSinceBoot(1000);
constexpr std::chrono::minutes kPatience(1);

}  // namespace

FakeClock::FakeClock() : begin_us_(machine_clock()->now_us()) {}

int64_t FakeClock::now_us() const {
  std::lock_guard lock(mutex_);
  return begin_us_ + moved_.count();
}

Clock::Time FakeClock::now() const {
  std::lock_guard lock(mutex_);
  return Time(kSinceBoot) + moved_;
}

void FakeClock::wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Time until) {
  std::list<Waiter>::iterator self;
  {
    std::lock_guard own(mutex_);
    at_work_.erase(std::this_thread::get_id());
    came_back_.notify_all();
    if (until <= Time(kSinceBoot) + moved_) return;
    self = waiters_.insert(waiters_.end(), {std::this_thread::get_id(), lock.mutex(), &changed});
  }
  changed.wait(lock);
  std::lock_guard own(mutex_);
  waiters_.erase(self);
}

std::shared_ptr<void> FakeClock::on_jump(std::function<void()> call) {
  std::lock_guard lock(jumps_mutex_);
  const uint64_t number = next_jump_++;
  jumps_.emplace(number, std::move(call));
  return std::shared_ptr<void>(nullptr, [this, number](void*) {
    std::lock_guard own(jumps_mutex_);
    jumps_.erase(number);
  });
}

size_t FakeClock::waiting() const {
  std::lock_guard lock(mutex_);
  return waiters_.size();
}

void FakeClock::move(std::chrono::microseconds by) {
  std::vector<Waiter> waiters;
  {
    std::lock_guard lock(mutex_);
    moved_ += by;
    waiters.assign(waiters_.begin(), waiters_.end());
  }
  wake(waiters);
}

void FakeClock::advance(std::chrono::microseconds by) {
  std::vector<Waiter> waiters;
  {
    std::lock_guard lock(mutex_);
    moved_ += by;
    waiters.assign(waiters_.begin(), waiters_.end());
    for (const Waiter& waiter : waiters) at_work_.insert(waiter.thread);
  }
  wake(waiters);
  std::unique_lock lock(mutex_);
  if (came_back_.wait_for(lock, kPatience, [this] { return at_work_.empty(); })) return;
  log::error("a thread that the clock woke does not wait again", {});
  std::abort();
}

void FakeClock::wake(const std::vector<Waiter>& waiters) {
  for (const Waiter& waiter : waiters) {
    // By then it really waits.
    {
      std::lock_guard its(*waiter.mutex);
    }
    waiter.changed->notify_all();
  }
  std::lock_guard lock(jumps_mutex_);
  for (const auto& [number, call] : jumps_) call();
}

}  // namespace cove::fake
