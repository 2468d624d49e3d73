#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection.h"
#include "client/http.h"
#include "http1/websocket_frame.h"

namespace cove::client {

using http1::Opcode;

struct WebSocketMessage {
  Opcode opcode = Opcode::Text;  // Text or Binary
  std::string data;
};

// The client's end of a WebSocket, for a poll loop: nothing here waits. Pings are answered.
class WebSocket {
 public:
  static Result<WebSocket> open(const Http& http, const std::string& target);

  int fd() const { return connection_->fd(); }
  // What poll should ask for: data, and room where something waits to be sent.
  short wanted() const;
  // Bytes that wait to be sent.
  size_t pending() const { return out_.size() - sent_; }

  void send(Opcode opcode, std::string_view payload);
  // After poll: moves what can be moved. Unavailable where the connection broke without a closing frame.
  Result<void> move(short revents);
  // The next message that came. Internal where the server does not keep to the protocol; then it is over.
  Result<std::optional<WebSocketMessage>> next();
  // The server has closed in good order, or ended the stream.
  bool closed() const { return closed_; }
  // Says good-bye, without waiting for an answer.
  void close();

 private:
  explicit WebSocket(std::unique_ptr<Connection> connection);
  Result<void> receive();
  Result<void> transmit();
  Result<std::optional<http1::FrameReader::Event>> next_event();

  std::unique_ptr<Connection> connection_;
  http1::FrameReader frames_;
  std::string in_;    // what came and was not looked at yet
  size_t taken_ = 0;  // of that
  std::string out_;
  size_t sent_ = 0;
  bool closed_ = false;
};

}  // namespace cove::client
