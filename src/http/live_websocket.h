#pragma once

#include <optional>

#include "http/websocket.h"
#include "http/wire.h"
#include "http1/websocket_frame.h"

namespace cove::http {

// A WebSocket over a wire, after the handshake.
class LiveWebSocket final : public WebSocket {
 public:
  LiveWebSocket(Wire& wire, milliseconds patience);
  // Closes it where nobody has: 1000, or 1001 when the server stops.
  ~LiveWebSocket() override;

  Wake wait(int fd, milliseconds patience) override;
  Result<Message> receive() override;
  Result<void> send(Kind kind, std::string_view data) override;
  Result<void> ping() override;
  bool peer_closed() const override { return peer_closed_; }
  void close(uint16_t code, std::string_view reason) override;

 private:
  // Takes frames out of the buffered bytes until a message is there, answering control frames on the way.
  void take_frames();
  void take_event(http1::FrameReader::Event event);
  // Reads what has come, without waiting.
  void read_more();
  Wake choose(bool fd_ready);
  Result<void> send_frame(http1::Opcode opcode, std::string_view data);

  Wire& wire_;
  milliseconds patience_;
  http1::FrameReader frames_;
  std::optional<Message> message_;
  bool gone_ = false;         // nothing more will come
  bool peer_closed_ = false;  // with a close frame
  bool closed_ = false;       // nothing more may be sent
  bool fds_turn_ = false;     // the last one told of was a message
};

}  // namespace cove::http
