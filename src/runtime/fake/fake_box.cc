#include "runtime/fake/fake_box.h"

#include <sys/eventfd.h>

namespace cove::fake {

FakeChannel::FakeChannel(std::shared_ptr<FakeServer> server)
    : server_(std::move(server)), readable_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void FakeChannel::push(Event event) {
  events_.push_back(std::move(event));
  ::eventfd_write(readable_.get(), 1);
}

std::optional<Event> FakeChannel::pop() {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  eventfd_t value;
  if (events_.empty()) ::eventfd_read(readable_.get(), &value);
  return event;
}

}  // namespace cove::fake
