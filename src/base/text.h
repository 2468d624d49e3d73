#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove {

namespace text_detail {
inline void append(std::string& out, std::string_view piece) { out += piece; }
inline void append(std::string& out, char piece) { out += piece; }
template <typename T>
  requires std::integral<T> || std::floating_point<T>
void append(std::string& out, T number) {
  char digits[32];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}
}  // namespace text_detail

// concat("uid ", 7, " of ", name): one string out of strings, characters and numbers.
template <typename... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string out;
  (text_detail::append(out, pieces), ...);
  return out;
}

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

// A whole decimal number within [lowest, highest]; anything else is Invalid and names the text.
Result<int64_t> parse_integer(std::string_view text, int64_t lowest, int64_t highest);
// "512", "64k", "1.5g", "2GiB": powers of 1024, at least one byte.
Result<uint64_t> parse_bytes(std::string_view text);
// "1.5": a finite number above zero.
Result<double> parse_positive(std::string_view text);
// "30", "30s", "1.5s", "250ms", "5m", "2h": above zero; a bare number is seconds.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// 1536 → "1.5 KiB".
std::string format_bytes(uint64_t bytes);

// The candidate closest to `word` (for "did you mean"), empty where none is close: one typing error for every three
// characters of the word.
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cove
