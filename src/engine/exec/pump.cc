#include "engine/exec/pump.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

namespace cove::engine {
namespace {

constexpr uint32_t kEvents = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
constexpr int kBatch = 64;
constexpr uint64_t kWakeToken = 0;

}  // namespace

Result<std::unique_ptr<Pump>> Pump::create(Clock& clock) {
  std::unique_ptr<Pump> pump(new Pump(clock));
  pump->poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!pump->poll_) return fail_errno("epoll_create1");
  pump->wake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!pump->wake_) return fail_errno("eventfd");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = kWakeToken;
  if (::epoll_ctl(pump->poll_.get(), EPOLL_CTL_ADD, pump->wake_.get(), &event) < 0) return fail_errno("epoll_ctl");
  pump->jumps_ = clock.on_jump([wake = pump->wake_.get()] { ::eventfd_write(wake, 1); });
  pump->thread_ = std::thread([raw = pump.get()] { raw->run(); });
  return pump;
}

void Pump::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) thread_.join();
}

Result<uint64_t> Pump::watch(int fd, std::weak_ptr<Source> source, int which) {
  uint64_t token;
  {
    std::lock_guard lock(mutex_);
    token = next_token_++;
    watched_.emplace(token, Watched{std::move(source), which});
  }
  epoll_event event = {};
  event.events = kEvents;
  event.data.u64 = token;
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return token;
  Error error = Error::from_errno(errno, "epoll_ctl");
  std::lock_guard lock(mutex_);
  watched_.erase(token);
  return fail(std::move(error));
}

void Pump::rearm(uint64_t token, int fd) {
  epoll_event event = {};
  event.events = kEvents;
  event.data.u64 = token;
  ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Pump::unwatch(uint64_t token, int fd) {
  ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  std::lock_guard lock(mutex_);
  watched_.erase(token);
}

void Pump::wake_at(Clock::Time time, std::weak_ptr<Source> source) {
  bool earlier;
  {
    std::lock_guard lock(mutex_);
    earlier = times_.empty() || time < times_.begin()->first;
    times_.emplace(time, std::move(source));
  }
  if (earlier) ::eventfd_write(wake_.get(), 1);
}

int Pump::patience() {
  std::lock_guard lock(mutex_);
  if (times_.empty()) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(times_.begin()->first - clock_.now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void Pump::call_those_due() {
  while (true) {
    std::shared_ptr<Source> source;
    {
      std::lock_guard lock(mutex_);
      if (times_.empty() || times_.begin()->first > clock_.now()) return;
      source = times_.begin()->second.lock();
      times_.erase(times_.begin());
    }
    if (source) source->on_time();
  }
}

void Pump::call(uint64_t token) {
  std::shared_ptr<Source> source;
  int which = 0;
  {
    std::lock_guard lock(mutex_);
    auto found = watched_.find(token);
    if (found == watched_.end()) return;
    source = found->second.source.lock();
    which = found->second.which;
  }
  if (source) source->on_ready(which);
}

void Pump::run() {
  epoll_event events[kBatch];
  while (true) {
    int count = ::epoll_wait(poll_.get(), events, kBatch, patience());
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 != kWakeToken) {
        call(events[i].data.u64);
        continue;
      }
      eventfd_t value;
      ::eventfd_read(wake_.get(), &value);
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    call_those_due();
  }
}

}  // namespace cove::engine
