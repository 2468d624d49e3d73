#include "net/gateway/loop.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"

namespace cove::net {
namespace {

constexpr int kEventsPerTurn = 256;

class EpollLoop : public Loop {
 public:
  explicit EpollLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  Result<void> add(int fd, uint32_t events, Handler handler) override {
    auto watch = std::make_unique<Watch>(fd, std::move(handler));
    epoll_event event = {.events = events, .data = {.ptr = watch.get()}};
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno(concat("epoll_ctl add ", fd));
    auto index = static_cast<size_t>(fd);
    if (watches_.size() <= index) watches_.resize(index + 1);
    watches_[index] = std::move(watch);
    return {};
  }

  void change(int fd, uint32_t events) override {
    Watch* watch = find(fd);
    if (!watch) return;
    epoll_event event = {.events = events, .data = {.ptr = watch}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
  }

  void remove(int fd) override {
    Watch* watch = find(fd);
    if (!watch) return;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    watch->removed = true;
    // Events of this turn may still point to it, and its handler may be running.
    removed_.push_back(std::move(watches_[static_cast<size_t>(fd)]));
  }

  uint64_t after(std::chrono::milliseconds time, std::function<void()> call) override {
    uint64_t number = ++last_timer_;
    auto due = Clock::now() + time;
    timers_.emplace(TimerKey(due, number), std::move(call));
    due_.emplace(number, due);
    return number;
  }

  void cancel(uint64_t timer) override {
    auto found = due_.find(timer);
    if (found == due_.end()) return;
    timers_.erase(TimerKey(found->second, timer));
    due_.erase(found);
  }

  void later(std::function<void()> call) override { later_.push_back(std::move(call)); }

  void run() override {
    stopped_ = false;
    while (!stopped_) turn();
  }

  void stop() override { stopped_ = true; }

 private:
  struct Watch {
    Watch(int number, Handler call) : fd(number), handler(std::move(call)) {}
    int fd;
    Handler handler;
    bool removed = false;
  };
  using TimerKey = std::pair<Clock::time_point, uint64_t>;

  Watch* find(int fd) {
    auto index = static_cast<size_t>(fd);
    return fd >= 0 && index < watches_.size() ? watches_[index].get() : nullptr;
  }

  void turn() {
    std::array<epoll_event, kEventsPerTurn> events;
    int count = ::epoll_wait(epoll_.get(), events.data(), kEventsPerTurn, patience());
    for (int i = 0; i < count; ++i) {
      auto* watch = static_cast<Watch*>(events[static_cast<size_t>(i)].data.ptr);
      if (!watch->removed) watch->handler(events[static_cast<size_t>(i)].events);
    }
    call_timers();
    call_later();
    removed_.clear();
  }

  // How long to wait for events: until the next timer, rounded up.
  int patience() const {
    if (!later_.empty()) return 0;
    if (timers_.empty()) return -1;
    auto left = timers_.begin()->first.first - Clock::now();
    if (left <= Clock::duration::zero()) return 0;
    constexpr auto kLongest = std::chrono::milliseconds(60'000);
    return static_cast<int>(std::min(std::chrono::ceil<std::chrono::milliseconds>(left), kLongest).count());
  }

  void call_timers() {
    if (timers_.empty()) return;
    auto now = Clock::now();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      auto timer = timers_.extract(timers_.begin());
      due_.erase(timer.key().second);
      timer.mapped()();
    }
  }

  // What is added meanwhile is called in the next turn.
  void call_later() {
    std::vector<std::function<void()>> calls;
    calls.swap(later_);
    for (auto& call : calls) call();
  }

  UniqueFd epoll_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::vector<std::unique_ptr<Watch>> removed_;
  std::map<TimerKey, std::function<void()>> timers_;
  std::unordered_map<uint64_t, Clock::time_point> due_;
  std::vector<std::function<void()>> later_;
  uint64_t last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Loop>> Loop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail_errno("epoll_create1");
  return std::make_unique<EpollLoop>(std::move(epoll));
}

}  // namespace cove::net
