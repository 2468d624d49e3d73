#pragma once

#include <cerrno>
#include <string_view>
#include <vector>

#include "init/protocol.h"
#include "sys/socket.h"

// Receives and sends messages of process 1, without blocking and without trust.
namespace cove::init {

enum class Received { Message, Nothing, Closed };

// One message, if there is one. A message that is too long or truncated is returned with empty data.
inline Received receive(int socket, sys::Message& message) {
  Result<sys::Message> got = sys::receive_message(socket, wire::kMaxMessage, MSG_DONTWAIT);
  if (got) {
    message = std::move(*got);
    return message.data.empty() ? Received::Closed : Received::Message;
  }
  message = {};
  if (got.error().errnum() == 0) return Received::Message;
  return got.error().errnum() == EAGAIN ? Received::Nothing : Received::Closed;
}

// False if the other side is gone or does not read.
inline bool send(int socket, const wire::Writer& message, const std::vector<int>& fds = {}) {
  return sys::send_message(socket, message.data(), fds, MSG_DONTWAIT).has_value();
}

}  // namespace cove::init
