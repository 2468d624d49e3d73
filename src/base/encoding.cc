#include "base/encoding.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace cove {
namespace {

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

// The value of each base64 digit; 64 where a byte is none.
constexpr std::array<uint8_t, 256> make_values() {
  std::array<uint8_t, 256> values = {};
  values.fill(64);
  for (size_t i = 0; i < kBase64.size(); ++i) values[static_cast<unsigned char>(kBase64[i])] = static_cast<uint8_t>(i);
  return values;
}
constexpr std::array<uint8_t, 256> kValues = make_values();

// How many bytes a UTF-8 sequence has that begins with this byte; 0 where none does.
size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

// The second byte has a narrower range after some first ones.
bool second_fits(unsigned char first, unsigned char second) {
  unsigned char lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return second >= lowest && second <= highest;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  for (size_t at = 0; at < bytes.size();) {
    size_t length = sequence_length(byte(at));
    if (length == 0 || at + length > bytes.size()) return false;
    if (length > 1 && !second_fits(byte(at), byte(at + 1))) return false;
    for (size_t next = 2; next < length; ++next)
      if ((byte(at + next) & 0xc0) != 0x80) return false;
    at += length;
  }
  return true;
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= count ? kBase64[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    uint32_t digit = kValues[static_cast<unsigned char>(c)];
    if (digit == 64) return std::nullopt;
    bits = bits << 6 | digit;
    have += 6;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> have & 0xff);
  }
  if ((bits & ((1u << have) - 1)) != 0) return std::nullopt;
  return out;
}

std::string format_time(int64_t milliseconds_since_1970) {
  int64_t seconds = milliseconds_since_1970 / 1000;
  int64_t rest = milliseconds_since_1970 % 1000;
  if (rest < 0) rest += 1000, --seconds;
  auto count = static_cast<time_t>(seconds);
  struct tm parts = {};
  ::gmtime_r(&count, &parts);
  char date[32];
  size_t length = std::strftime(date, sizeof date, "%FT%T", &parts);
  char text[48];
  std::snprintf(text, sizeof text, "%.*s.%03dZ", static_cast<int>(length), date, static_cast<int>(rest));
  return text;
}

std::string percent_encode(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (kUnreserved.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

std::optional<int64_t> parse_time(std::string_view text) {
  const std::string copy(text);
  struct tm parts = {};
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  int64_t milliseconds = int64_t{::timegm(&parts)} * 1000;
  if (*rest == '.') {
    int64_t unit = 100;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) milliseconds += (*rest - '0') * unit;
  }
  if (std::string_view(rest) == "Z" || std::string_view(rest) == "z") return milliseconds;
  int hours = 0, minutes = 0, used = 0;
  char sign = 0;
  if (std::sscanf(rest, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) != 3 || rest[used] != '\0') return std::nullopt;
  if (sign != '+' && sign != '-') return std::nullopt;
  const int64_t offset = (int64_t{hours} * 60 + minutes) * 60'000;
  return sign == '+' ? milliseconds - offset : milliseconds + offset;
}

}  // namespace cove
