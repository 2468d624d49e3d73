#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

// The frames of RFC 6455, on the client's side: what goes out is masked, what comes in is not.
namespace cove::client {

enum class Opcode : uint8_t { Continuation = 0, Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };

using Mask = std::array<unsigned char, 4>;
Mask random_mask();

// One whole message in one frame.
std::string encode_frame(Opcode opcode, std::string_view payload, const Mask& mask);

struct WebSocketMessage {
  Opcode opcode = Opcode::Text;  // Text, Binary, Close, Ping or Pong
  std::string data;
};

// Bytes into messages; fragments are put together.
class FrameDecoder {
 public:
  static constexpr size_t kMaxMessage = 64 << 20;

  void feed(std::string_view data) { buffer_ += data; }
  // Nothing where none is complete. Internal where the other side does not keep to the protocol; then it is over.
  Result<std::optional<WebSocketMessage>> next();

 private:
  struct Frame {
    bool final = false;
    Opcode opcode = Opcode::Continuation;
    std::string_view payload;
  };
  Result<std::optional<Frame>> next_frame();
  Result<std::optional<WebSocketMessage>> join(const Frame& frame);
  void compact();

  std::string buffer_;
  size_t taken_ = 0;
  std::optional<WebSocketMessage> partial_;
};

// What the server must answer to a key: base64 of SHA-1 over it and a fixed text.
std::string accept_of_key(std::string_view key);
std::string random_key();

}  // namespace cove::client
