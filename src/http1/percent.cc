#include "http1/percent.h"

#include <algorithm>

#include "base/ascii.h"

namespace cove::http1 {
namespace {

// The byte that the two digits at the front stand for; negative where they are none.
int escaped_byte(std::string_view digits) {
  if (digits.size() < 2) return -1;
  int high = hex_digit(digits[0]), low = hex_digit(digits[1]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      int byte = escaped_byte(text.substr(i + 1));
      if (byte < 0) return std::nullopt;
      c = static_cast<char>(byte);
      i += 2;
    } else if (c == '+' && plus == Plus::IsSpace) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    decoded += c;
  }
  return decoded;
}

std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!text.empty()) {
    size_t end = std::min(text.find('&'), text.size());
    std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), Plus::IsSpace);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), Plus::IsSpace);
    if (!name || !value) return std::nullopt;
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

}  // namespace cove::http1
