#include "cli/table.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace cove::cli {
namespace {

constexpr size_t kGap = 2;

// Decodes the UTF-8 character at the start of `text`; size 0 if it is invalid.
struct Character {
  size_t size = 0;
  char32_t code = 0;
};

Character first_of(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  bool overlong = code < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {size, code};
}

// C0, DEL, C1, and characters that change the text direction.
bool is_harmful(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool is_wide(char32_t code) {
  return (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
         (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
         (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
         (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
}

bool is_combining(char32_t code) {
  return (code >= 0x300 && code <= 0x36f) || code == 0x200d || (code >= 0xfe00 && code <= 0xfe0f);
}

size_t width_of(char32_t code) { return is_combining(code) ? 0 : is_wide(code) ? 2 : 1; }

std::string escaped(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += concat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    Character character = first_of(text);
    size_t size = std::max<size_t>(1, character.size);
    bool fine = character.size > 0 && !is_harmful(character.code);
    out += fine ? std::string(text.substr(0, size)) : escaped(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    Character character = first_of(text);
    width += character.size == 0 ? 1 : width_of(character.code);
    text.remove_prefix(std::max<size_t>(1, character.size));
  }
  return width;
}

std::string shorten(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    Character character = first_of(text);
    size_t size = std::max<size_t>(1, character.size);
    size_t columns = character.size == 0 ? 1 : width_of(character.code);
    if (used + columns + 1 > width) break;
    used += columns;
    out += text.substr(0, size);
    text.remove_prefix(size);
  }
  return out + "…";
}

std::string Table::text() const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - display_width(row[i]) + kGap, ' ');
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out;
}

}  // namespace cove::cli
