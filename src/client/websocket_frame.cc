#include "client/websocket_frame.h"

#include <sys/random.h>

#include <cstdlib>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "client/sha1.h"

namespace cove::client {
namespace {

constexpr unsigned kFinal = 0x80;
constexpr unsigned kReserved = 0x70;
constexpr unsigned kMasked = 0x80;
constexpr size_t kMaxControl = 125;

void fill_random(void* data, size_t size) {
  if (::getrandom(data, size, 0) != static_cast<ssize_t>(size)) std::abort();
}

bool is_control(Opcode opcode) { return static_cast<uint8_t>(opcode) >= 8; }

bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::unexpected<Error> broken(std::string_view what) {
  return fail(Code::Internal, concat("the server does not keep to the WebSocket protocol: ", what));
}

void append_big_endian(std::string& text, uint64_t number, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
}

uint64_t read_big_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

Mask random_mask() {
  Mask mask;
  fill_random(mask.data(), mask.size());
  return mask;
}

std::string random_key() {
  std::string bytes(16, '\0');
  fill_random(bytes.data(), bytes.size());
  return to_base64(bytes);
}

std::string accept_of_key(std::string_view key) {
  return to_base64(sha1(concat(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
}

std::string encode_frame(Opcode opcode, std::string_view payload, const Mask& mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(kFinal | static_cast<unsigned>(opcode));
  if (payload.size() < 126) {
    frame += static_cast<char>(kMasked | payload.size());
  } else if (payload.size() <= 0xffff) {
    frame += static_cast<char>(kMasked | 126);
    append_big_endian(frame, payload.size(), 2);
  } else {
    frame += static_cast<char>(kMasked | 127);
    append_big_endian(frame, payload.size(), 8);
  }
  frame.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  size_t begin = frame.size();
  frame += payload;
  for (size_t i = 0; i < payload.size(); ++i)
    frame[begin + i] = static_cast<char>(static_cast<unsigned char>(frame[begin + i]) ^ mask[i % 4]);
  return frame;
}

Result<std::optional<FrameDecoder::Frame>> FrameDecoder::next_frame() {
  std::string_view rest = std::string_view(buffer_).substr(taken_);
  if (rest.size() < 2) return std::nullopt;
  auto first = static_cast<unsigned char>(rest[0]);
  auto second = static_cast<unsigned char>(rest[1]);
  if ((first & kReserved) != 0 || !is_known(first & 15)) return broken("an unknown kind of frame");
  if ((second & kMasked) != 0) return broken("a masked frame");
  Frame frame{(first & kFinal) != 0, static_cast<Opcode>(first & 15), {}};
  uint64_t length = second & 127;
  if (is_control(frame.opcode) && (length > kMaxControl || !frame.final)) return broken("a long control frame");
  size_t length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (rest.size() < 2 + length_bytes) return std::nullopt;
  if (length_bytes > 0) length = read_big_endian(rest.substr(2, length_bytes));
  if (length > kMaxMessage) return broken("a message that is too large");
  size_t head = 2 + length_bytes;
  if (rest.size() < head + length) return std::nullopt;
  frame.payload = rest.substr(head, static_cast<size_t>(length));
  taken_ += head + static_cast<size_t>(length);
  return frame;
}

Result<std::optional<WebSocketMessage>> FrameDecoder::join(const Frame& frame) {
  if (is_control(frame.opcode)) return WebSocketMessage{frame.opcode, std::string(frame.payload)};
  bool continues = frame.opcode == Opcode::Continuation;
  if (continues != partial_.has_value()) return broken("fragments out of order");
  if (!continues && frame.final) return WebSocketMessage{frame.opcode, std::string(frame.payload)};
  if (!continues) partial_ = WebSocketMessage{frame.opcode, ""};
  if (partial_->data.size() + frame.payload.size() > kMaxMessage) return broken("a message that is too large");
  partial_->data += frame.payload;
  if (!frame.final) return std::nullopt;
  return std::exchange(partial_, std::nullopt);
}

void FrameDecoder::compact() {
  buffer_.erase(0, taken_);
  taken_ = 0;
}

Result<std::optional<WebSocketMessage>> FrameDecoder::next() {
  while (true) {
    std::optional<Frame> frame = COVE_TRY(next_frame());
    if (!frame) {
      compact();
      return std::nullopt;
    }
    std::optional<WebSocketMessage> message = COVE_TRY(join(*frame));
    if (message) return message;
  }
}

}  // namespace cove::client
