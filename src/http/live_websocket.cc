#include "http/live_websocket.h"

namespace cove::http {
namespace {

using http1::FrameReader;
using http1::Opcode;

constexpr uint64_t kMaxMessage = 16 * 1024 * 1024;

}  // namespace

LiveWebSocket::LiveWebSocket(Wire& wire, milliseconds patience)
    : wire_(wire), patience_(patience), frames_(FrameReader::From::Client, kMaxMessage) {}

LiveWebSocket::~LiveWebSocket() { close(wire_.stopping() ? 1001 : 1000, ""); }

WebSocket::Wake LiveWebSocket::wait(int fd, milliseconds patience) {
  auto deadline = deadline_in(patience);
  for (;;) {
    take_frames();
    if (gone_ || wire_.stream().is_cut()) return Wake::Gone;
    pollfd fds[] = {{.fd = wire_.stop_fd(), .events = POLLIN, .revents = 0},
                    {.fd = fd, .events = POLLIN, .revents = 0},
                    {.fd = message_ ? -1 : wire_.stream().socket(), .events = POLLIN, .revents = 0}};
    bool something = message_ || wire_.stream().holds_bytes();
    int ready = poll_until(fds, something ? Clock::time_point() : deadline);
    if (fds[0].revents) return Wake::Stopping;
    if (message_) return choose(fds[1].revents);
    if (ready == 0 && !something) return Wake::Timeout;
    if (fds[2].revents || something) read_more();
    take_frames();
    if (message_ || fds[1].revents) return choose(fds[1].revents);
  }
}

// Neither the peer nor the descriptor can keep the other one waiting.
WebSocket::Wake LiveWebSocket::choose(bool fd_ready) {
  bool fd = fd_ready && (fds_turn_ || !message_);
  fds_turn_ = !fd;
  return fd ? Wake::Fd : Wake::Message;
}

void LiveWebSocket::take_frames() {
  while (!message_ && !gone_ && !wire_.buffered().empty()) {
    std::string_view input = wire_.buffered();
    size_t before = input.size();
    auto event = frames_.feed(input);
    wire_.use(before - input.size());
    if (!event) {
      close(event.error().code, event.error().reason);
      gone_ = true;
    } else if (*event) {
      take_event(std::move(**event));
    }
  }
}

void LiveWebSocket::take_event(FrameReader::Event event) {
  switch (event.opcode) {
    case Opcode::Ping:
      if (!send_frame(Opcode::Pong, event.data)) gone_ = true;
      return;
    case Opcode::Close:
      close(event.close_code == 1005 ? 1000 : event.close_code, "");
      gone_ = peer_closed_ = true;
      return;
    case Opcode::Text:
      message_ = Message{Kind::Text, std::move(event.data)};
      return;
    case Opcode::Binary:
      message_ = Message{Kind::Binary, std::move(event.data)};
      return;
    case Opcode::Pong:
    case Opcode::Continuation:
      return;
  }
}

void LiveWebSocket::read_more() {
  auto attempt = wire_.try_fill();
  if (!attempt || (attempt->bytes == 0 && !attempt->blocked)) gone_ = true;
}

Result<WebSocket::Message> LiveWebSocket::receive() {
  if (!message_ && wait(-1, patience_) != Wake::Message)
    return fail(Code::Unavailable, "no message comes over the WebSocket");
  Message message = std::move(*message_);
  message_.reset();
  return message;
}

Result<void> LiveWebSocket::send_frame(Opcode opcode, std::string_view data) {
  if (closed_) return fail(Code::Unavailable, "the WebSocket is closed");
  std::string head = http1::frame_head(opcode, data.size());
  iovec pieces[] = {{.iov_base = head.data(), .iov_len = head.size()},
                    {.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()}};
  auto sent = wire_.stream().write(pieces, patience_);
  if (!sent) closed_ = gone_ = true;  // half a frame may be out
  return sent;
}

Result<void> LiveWebSocket::send(Kind kind, std::string_view data) {
  return send_frame(kind == Kind::Text ? Opcode::Text : Opcode::Binary, data);
}

Result<void> LiveWebSocket::ping() { return send_frame(Opcode::Ping, ""); }

void LiveWebSocket::close(uint16_t code, std::string_view reason) {
  if (closed_ || wire_.stream().is_cut()) return;
  closed_ = true;
  const std::string payload = http1::close_payload(code, reason);
  (void)wire_.stream().write(http1::frame_head(Opcode::Close, payload.size()) + payload, patience_);
}

}  // namespace cove::http
