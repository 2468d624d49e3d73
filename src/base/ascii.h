#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"

// Letters as protocols know them, whatever the locale.
namespace cove {

inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

inline std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

inline std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

// 0 to 15; negative if it is not a hexadecimal digit.
inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

inline bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// Whether a comma-separated header value has the word.
inline bool lists_word(std::string_view value, std::string_view word) {
  while (!value.empty()) {
    size_t end = std::min(value.find(','), value.size());
    if (same_word(trim(value.substr(0, end)), word)) return true;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return false;
}

}  // namespace cove
