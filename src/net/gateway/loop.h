#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"

namespace cove::net {

// The gateway's event loop: one thread, epoll. A handler may remove any descriptor, also its own.
class Loop {
 public:
  using Handler = std::function<void(uint32_t events)>;  // EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR, EPOLLRDHUP
  using Clock = std::chrono::steady_clock;

  virtual ~Loop() = default;
  static Result<std::unique_ptr<Loop>> create();

  virtual Result<void> add(int fd, uint32_t events, Handler handler) = 0;
  virtual void change(int fd, uint32_t events) = 0;
  virtual void remove(int fd) = 0;  // before the descriptor is closed
  // Calls once, after that time; the number cancels it.
  virtual uint64_t after(std::chrono::milliseconds time, std::function<void()> call) = 0;
  virtual void cancel(uint64_t timer) = 0;
  // Calls from the loop, after the handlers of this turn: for an object that ends itself.
  virtual void later(std::function<void()> call) = 0;
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace cove::net
