#include "net/gateway/outbox.h"

#include <sys/socket.h>

#include <cerrno>

namespace cove::net {
namespace {

// About what a message costs in the queue besides its bytes.
constexpr size_t kOverhead = 64;

}  // namespace

bool Outbox::send_entry(std::string message) {
  if (size_ + message.size() + kOverhead > kMost) return false;
  enqueue(std::move(message));
  return true;
}

void Outbox::enqueue(std::string message) {
  if (messages_.empty() && send_now(message)) return;
  size_ += message.size() + kOverhead;
  messages_.push_back(std::move(message));
  if (messages_.size() == 1) changed_();
}

void Outbox::flush() {
  while (!messages_.empty() && send_now(messages_.front())) {
    size_ -= messages_.front().size() + kOverhead;
    messages_.pop_front();
  }
  if (messages_.empty()) changed_();
}

// False only where the channel is full. Where coved is gone, the gateway ends by itself.
bool Outbox::send_now(const std::string& message) {
  ssize_t sent;
  do {
    sent = ::send(channel_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 || (errno != EAGAIN && errno != ENOBUFS);
}

}  // namespace cove::net
