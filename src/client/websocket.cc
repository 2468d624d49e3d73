#include "client/websocket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/text.h"

namespace cove::client {
namespace {

constexpr size_t kPortion = 256 * 1024;

Request handshake(const std::string& target, const std::string& key) {
  Request request;
  request.target = target;
  request.headers = {
      {"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Key", key}};
  return request;
}

std::unexpected<Error> lost(std::string_view call) {
  return fail(Error::from_errno(errno, concat(call, " the server")).as(Code::Unavailable));
}

}  // namespace

Result<WebSocket> WebSocket::open(const Http& http, const std::string& target) {
  std::string key = random_key();
  ResponseHead head;
  std::unique_ptr<Connection> connection = COVE_TRY(http.upgrade(handshake(target, key), head));
  if (head.header("sec-websocket-accept") != accept_of_key(key))
    return fail(Code::Internal, "the server does not speak WebSocket: its handshake is wrong");
  return WebSocket(std::move(connection));
}

// What came right behind the handshake is in the connection's buffer.
WebSocket::WebSocket(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
  decoder_.feed(connection_->unread());
  connection_->take(connection_->unread().size());
}

short WebSocket::wanted() const { return static_cast<short>(POLLIN | (pending() > 0 ? POLLOUT : 0)); }

void WebSocket::send(Opcode opcode, std::string_view payload) {
  if (sent_ > 0) out_.erase(0, std::exchange(sent_, 0));
  out_ += encode_frame(opcode, payload, random_mask());
  static_cast<void>(transmit());  // an error comes back with the next move
}

void WebSocket::close() { send(Opcode::Close, std::string_view("\x03\xe8", 2)); }

Result<void> WebSocket::transmit() {
  while (pending() > 0) {
    ssize_t count = ::send(fd(), out_.data() + sent_, pending(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return {};
    if (count < 0) return lost("write to");
    sent_ += static_cast<size_t>(count);
  }
  out_.clear();
  sent_ = 0;
  return {};
}

Result<void> WebSocket::receive() {
  thread_local std::vector<char> data(kPortion);
  ssize_t count = ::recv(fd(), data.data(), data.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count < 0) return lost("read from");
  if (count == 0) closed_ = true;
  decoder_.feed({data.data(), static_cast<size_t>(count)});
  return {};
}

Result<void> WebSocket::move(short revents) {
  // What there is to be read comes first: it may say why nothing more is taken.
  if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0) COVE_TRY(receive());
  if ((revents & POLLOUT) != 0 && !closed_) COVE_TRY(transmit());
  return {};
}

Result<std::optional<WebSocketMessage>> WebSocket::next() {
  while (true) {
    std::optional<WebSocketMessage> message = COVE_TRY(decoder_.next());
    if (!message) return std::nullopt;
    if (message->opcode == Opcode::Text || message->opcode == Opcode::Binary) return message;
    if (message->opcode == Opcode::Ping) send(Opcode::Pong, message->data);
    if (message->opcode == Opcode::Close) {
      send(Opcode::Close, message->data);
      closed_ = true;
    }
  }
}

}  // namespace cove::client
