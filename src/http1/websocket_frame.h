#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

// Frames of RFC 6455, as bytes: nothing here touches a socket.
namespace cove::http1 {

enum class Opcode : uint8_t { Continuation = 0, Text = 1, Binary = 2, Close = 8, Ping = 9, Pong = 10 };

// Frames of clients are masked, those of servers are not.
using Mask = std::array<unsigned char, 4>;
Mask random_mask();

// What a frame from the server begins with.
std::string frame_head(Opcode opcode, uint64_t length);
// A whole message in one frame from a client.
std::string masked_frame(Opcode opcode, std::string_view payload, const Mask& mask);
// What a close frame carries; the reason is cut to what fits.
std::string close_payload(uint16_t code, std::string_view reason);

// Puts the frames of one side together to messages.
class FrameReader {
 public:
  enum class From { Client, Server };
  FrameReader(From from, uint64_t max_message) : masked_(from == From::Client), max_message_(max_message) {}

  struct Event {
    Opcode opcode = Opcode::Text;  // never Continuation
    std::string data;              // of Close: the reason
    uint16_t close_code = 0;       // 1005 where none was given
  };
  // What the other side did wrong: the code and reason for a close frame.
  struct Violation {
    uint16_t code = 1002;
    std::string reason;
  };
  // Takes bytes off the front of `input` up to the end of one message or control frame; nothing where it takes more.
  // After a violation nothing more may be fed.
  std::expected<std::optional<Event>, Violation> feed(std::string_view& input);

 private:
  struct Header {
    bool final = true;
    Opcode opcode = Opcode::Text;
    uint64_t length = 0;
    Mask mask = {};
  };

  std::expected<bool, Violation> feed_header(std::string_view& input);
  std::expected<void, Violation> check(uint8_t first, uint8_t second);
  std::expected<void, Violation> check_length();
  size_t header_size(uint8_t second) const;
  void feed_payload(std::string_view& input);
  std::expected<std::optional<Event>, Violation> end_frame();
  std::expected<std::optional<Event>, Violation> end_message();
  static std::expected<std::optional<Event>, Violation> end_close(std::string payload);
  bool is_control() const { return header_.opcode >= Opcode::Close; }

  bool masked_;
  uint64_t max_message_;
  std::string raw_header_;  // of the frame that is coming
  bool in_payload_ = false;
  Header header_;
  uint64_t taken_ = 0;  // of the payload
  std::string control_;
  std::string message_;
  std::optional<Opcode> message_opcode_;  // of the fragmented message that is coming
};

}  // namespace cove::http1
