#include "client/websocket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http1/websocket_key.h"

namespace cove::client {
namespace {

constexpr size_t kPortion = 256 * 1024;
constexpr uint64_t kMaxMessage = 64 << 20;

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
  std::string key = http1::random_key();
  ResponseHead head;
  std::unique_ptr<Connection> connection = COVE_TRY(http.upgrade(handshake(target, key), head));
  if (head.header("sec-websocket-accept") != http1::accept_of_key(key))
    return fail(Code::Internal, "the server does not speak WebSocket: its handshake is wrong");
  return WebSocket(std::move(connection));
}

// What came right behind the handshake is in the connection's buffer.
WebSocket::WebSocket(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)), frames_(http1::FrameReader::From::Server, kMaxMessage) {
  in_ = connection_->unread();
  connection_->take(connection_->unread().size());
}

short WebSocket::wanted() const { return static_cast<short>(POLLIN | (pending() > 0 ? POLLOUT : 0)); }

void WebSocket::send(Opcode opcode, std::string_view payload) {
  if (sent_ > 0) out_.erase(0, std::exchange(sent_, 0));
  out_ += http1::masked_frame(opcode, payload, http1::random_mask());
  static_cast<void>(transmit());  // an error comes back with the next move
}

void WebSocket::close() { send(Opcode::Close, http1::close_payload(1000, "")); }

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
  in_.append(data.data(), static_cast<size_t>(count));
  return {};
}

Result<void> WebSocket::move(short revents) {
  // What there is to be read comes first: it may say why nothing more is taken.
  if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0) COVE_TRY(receive());
  if ((revents & POLLOUT) != 0 && !closed_) COVE_TRY(transmit());
  return {};
}

Result<std::optional<http1::FrameReader::Event>> WebSocket::next_event() {
  std::string_view input = std::string_view(in_).substr(taken_);
  auto event = frames_.feed(input);
  if (!event)
    return fail(Code::Internal, concat("the server does not keep to the WebSocket protocol: ", event.error().reason));
  taken_ = in_.size() - input.size();
  if (input.empty()) in_.erase(0, std::exchange(taken_, 0));
  return std::move(*event);
}

Result<std::optional<WebSocketMessage>> WebSocket::next() {
  while (auto event = COVE_TRY(next_event())) {
    if (event->opcode == Opcode::Text || event->opcode == Opcode::Binary)
      return WebSocketMessage{event->opcode, std::move(event->data)};
    if (event->opcode == Opcode::Ping) send(Opcode::Pong, event->data);
    if (event->opcode == Opcode::Close) {
      send(Opcode::Close, http1::close_payload(event->close_code == 1005 ? 1000 : event->close_code, ""));
      closed_ = true;
    }
  }
  return std::nullopt;
}

}  // namespace cove::client
