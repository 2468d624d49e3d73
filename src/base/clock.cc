#include "base/clock.h"

namespace cove {
namespace {

class MachineClock : public Clock {
 public:
  int64_t now_us() const override {
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  Time now() const override { return std::chrono::steady_clock::now(); }
  void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Time until) override {
    changed.wait_until(lock, until);
  }
  std::shared_ptr<void> on_jump(std::function<void()>) override { return nullptr; }
};

}  // namespace

std::shared_ptr<Clock> machine_clock() { return std::make_shared<MachineClock>(); }

}  // namespace cove
