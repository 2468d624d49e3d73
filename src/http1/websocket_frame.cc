#include "http1/websocket_frame.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/encoding.h"

namespace cove::http1 {
namespace {

constexpr uint64_t kMostControl = 125;
constexpr unsigned kMasked = 0x80;  // of a header's second byte

std::unexpected<FrameReader::Violation> violation(uint16_t code, std::string reason) {
  return std::unexpected(FrameReader::Violation{code, std::move(reason)});
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

void append_big_endian(std::string& out, uint64_t number, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xff);
}

// Masks, or takes a mask off. `phase`: how many bytes of this frame came before.
void apply_mask(char* data, size_t size, const Mask& mask, uint64_t phase) {
  char turned[8];
  for (size_t i = 0; i < 8; ++i) turned[i] = static_cast<char>(mask[(phase + i) % 4]);
  uint64_t wide;
  std::memcpy(&wide, turned, 8);
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word;
    std::memcpy(&word, data + i, 8);
    word ^= wide;
    std::memcpy(data + i, &word, 8);
  }
  for (; i < size; ++i) data[i] = static_cast<char>(data[i] ^ turned[i % 8]);
}

bool may_be_sent(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

}  // namespace

Mask random_mask() {
  Mask mask;
  if (::getrandom(mask.data(), mask.size(), 0) != static_cast<ssize_t>(mask.size())) std::abort();
  return mask;
}

std::string frame_head(Opcode opcode, uint64_t length) {
  std::string head(1, static_cast<char>(0x80 | static_cast<uint8_t>(opcode)));
  if (length <= kMostControl) {
    head += static_cast<char>(length);
  } else if (length <= 0xffff) {
    head += static_cast<char>(126);
    append_big_endian(head, length, 2);
  } else {
    head += static_cast<char>(127);
    append_big_endian(head, length, 8);
  }
  return head;
}

std::string masked_frame(Opcode opcode, std::string_view payload, const Mask& mask) {
  std::string frame = frame_head(opcode, payload.size());
  frame[1] = static_cast<char>(frame[1] | kMasked);
  frame.append(reinterpret_cast<const char*>(mask.data()), mask.size());
  const size_t begin = frame.size();
  frame += payload;
  apply_mask(frame.data() + begin, payload.size(), mask, 0);
  return frame;
}

std::string close_payload(uint16_t code, std::string_view reason) {
  reason = reason.substr(0, kMostControl - 2);
  while (!is_utf8(reason)) reason.remove_suffix(1);  // a character must not be cut in two
  std::string payload;
  append_big_endian(payload, code, 2);
  return payload.append(reason);
}

// Of a header whose first two bytes are known: these, the longer length, and the mask.
size_t FrameReader::header_size(uint8_t second) const {
  size_t length = second & 0x7f;
  return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + (masked_ ? sizeof(Mask) : 0);
}

std::expected<std::optional<FrameReader::Event>, FrameReader::Violation> FrameReader::feed(std::string_view& input) {
  for (;;) {
    if (!in_payload_) {
      auto complete = feed_header(input);
      if (!complete) return std::unexpected(complete.error());
      if (!*complete) return std::nullopt;
      in_payload_ = true;
    }
    feed_payload(input);
    if (taken_ < header_.length) return std::nullopt;
    auto event = end_frame();
    if (!event || *event) return event;
  }
}

std::expected<bool, FrameReader::Violation> FrameReader::feed_header(std::string_view& input) {
  while (!input.empty()) {
    raw_header_ += input.front();
    input.remove_prefix(1);
    if (raw_header_.size() < 2) continue;
    uint8_t first = static_cast<uint8_t>(raw_header_[0]), second = static_cast<uint8_t>(raw_header_[1]);
    if (raw_header_.size() == 2)
      if (auto checked = check(first, second); !checked) return std::unexpected(checked.error());
    size_t size = header_size(second);
    if (raw_header_.size() < size) continue;
    const size_t length = size - 2 - (masked_ ? sizeof(Mask) : 0);
    header_.length = length == 0 ? second & 0x7f : big_endian(std::string_view(raw_header_).substr(2, length));
    if (masked_) std::memcpy(header_.mask.data(), raw_header_.data() + 2 + length, sizeof(Mask));
    raw_header_.clear();
    taken_ = 0;
    if (auto checked = check_length(); !checked) return std::unexpected(checked.error());
    return true;
  }
  return false;
}

std::expected<void, FrameReader::Violation> FrameReader::check(uint8_t first, uint8_t second) {
  if (first & 0x70) return violation(1002, "reserved bits are set");
  uint8_t opcode = first & 0x0f;
  if ((opcode > 2 && opcode < 8) || opcode > 10) return violation(1002, "the opcode is not known");
  if (((second & kMasked) != 0) != masked_)
    return violation(1002, masked_ ? "the frame is not masked" : "the frame is masked");
  header_.final = first & 0x80;
  header_.opcode = static_cast<Opcode>(opcode);
  if (is_control() && !header_.final) return violation(1002, "a control frame is fragmented");
  if (is_control() && (second & 0x7f) > kMostControl) return violation(1002, "a control frame is too long");
  bool continues = header_.opcode == Opcode::Continuation;
  if (!is_control() && continues != message_opcode_.has_value())
    return violation(1002, continues ? "there is nothing to continue" : "a message begins within another");
  return {};
}

std::expected<void, FrameReader::Violation> FrameReader::check_length() {
  if (header_.length >> 63) return violation(1002, "the length is negative");
  if (!is_control() && header_.length > max_message_ - message_.size())
    return violation(1009, "the message is too long");
  return {};
}

void FrameReader::feed_payload(std::string_view& input) {
  std::string& target = is_control() ? control_ : message_;
  size_t count = std::min<uint64_t>(input.size(), header_.length - taken_);
  size_t from = target.size();
  target.append(input.substr(0, count));
  if (masked_) apply_mask(target.data() + from, count, header_.mask, taken_);
  input.remove_prefix(count);
  taken_ += count;
}

std::expected<std::optional<FrameReader::Event>, FrameReader::Violation> FrameReader::end_frame() {
  in_payload_ = false;
  if (header_.opcode == Opcode::Close) return end_close(std::exchange(control_, {}));
  if (is_control()) return Event{.opcode = header_.opcode, .data = std::exchange(control_, {})};
  if (header_.opcode != Opcode::Continuation) message_opcode_ = header_.opcode;
  if (!header_.final) return std::nullopt;
  return end_message();
}

std::expected<std::optional<FrameReader::Event>, FrameReader::Violation> FrameReader::end_message() {
  Event event{.opcode = *message_opcode_, .data = std::exchange(message_, {})};
  message_opcode_.reset();
  if (event.opcode == Opcode::Text && !is_utf8(event.data)) return violation(1007, "the text is not UTF-8");
  return event;
}

std::expected<std::optional<FrameReader::Event>, FrameReader::Violation> FrameReader::end_close(std::string payload) {
  if (payload.empty()) return Event{.opcode = Opcode::Close, .close_code = 1005};
  if (payload.size() == 1) return violation(1002, "a close frame has half a code");
  Event event{.opcode = Opcode::Close, .data = payload.substr(2)};
  event.close_code = static_cast<uint16_t>(big_endian(std::string_view(payload).substr(0, 2)));
  if (!may_be_sent(event.close_code)) return violation(1002, "the close code is not known");
  if (!is_utf8(event.data)) return violation(1007, "the close reason is not UTF-8");
  return event;
}

}  // namespace cove::http1
