#include "secret/encodings.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "base/encoding.h"

namespace cove {
namespace {

constexpr std::string_view kUnreserved = "-._~";
constexpr std::string_view kComponent = "-._~!'()*";  // JavaScript's encodeURIComponent
constexpr std::string_view kForm = "-._*";            // application/x-www-form-urlencoded
constexpr std::string_view kWholeUrl = "-._~!'()*;/?:@&=+$,#";

enum class Space { Escaped, Plus };

std::string url_escaped(std::string_view value, std::string_view kept, const char* digits, Space space) {
  std::string text;
  for (char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || kept.find(c) != kept.npos)
      text += c;
    else if (c == ' ' && space == Space::Plus)
      text += '+';
    else
      text.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return text;
}

void append_unit(std::string& text, uint32_t unit) {
  constexpr const char* kDigits = "0123456789abcdef";
  text += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[(unit >> shift) & 15];
}

// One character of UTF-8 at `at`, which moves behind it.
uint32_t next_character(std::string_view value, size_t& at) {
  const auto first = static_cast<unsigned char>(value[at++]);
  const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  uint32_t character = first & (0x3fu >> more);
  for (int i = 0; i < more && at < value.size(); ++i)
    character = character << 6 | (static_cast<unsigned char>(value[at++]) & 0x3f);
  return character;
}

void append_wide(std::string& text, uint32_t character) {
  if (character < 0x10000) return append_unit(text, character);
  append_unit(text, 0xd800 + ((character - 0x10000) >> 10));
  append_unit(text, 0xdc00 + ((character - 0x10000) & 0x3ff));
}

const char* short_escape(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      return nullptr;
  }
}

enum class Slash { Plain, Escaped };
enum class Wide { Plain, Escaped };

std::string json_escaped(std::string_view value, Slash slash, Wide wide) {
  std::string text;
  for (size_t at = 0; at < value.size();) {
    const char c = value[at];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && wide == Wide::Escaped) {
      append_wide(text, next_character(value, at));
      continue;
    }
    ++at;
    if (const char* escape = short_escape(c))
      text += escape;
    else if (byte < 0x20 || byte == 0x7f)
      append_unit(text, byte);
    else if (c == '/' && slash == Slash::Escaped)
      text += "\\/";
    else
      text += c;
  }
  return text;
}

std::string with_terminal_ends(std::string_view value) {
  std::string text;
  for (char c : value) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return text;
}

}  // namespace

std::vector<std::string> escaped_forms(std::string_view value) {
  std::vector<std::string> forms;
  for (std::string_view kept : {kUnreserved, kComponent, kForm, kWholeUrl})
    for (const char* digits : {"0123456789ABCDEF", "0123456789abcdef"})
      for (Space space : {Space::Escaped, Space::Plus}) forms.push_back(url_escaped(value, kept, digits, space));
  const bool is_text = is_utf8(value);
  for (Slash slash : {Slash::Plain, Slash::Escaped}) {
    forms.push_back(json_escaped(value, slash, Wide::Plain));
    if (is_text) forms.push_back(json_escaped(value, slash, Wide::Escaped));
  }
  forms.push_back(with_terminal_ends(value));
  std::ranges::sort(forms);
  const auto twice = std::ranges::unique(forms);
  forms.erase(twice.begin(), twice.end());
  std::erase(forms, value);
  return forms;
}

std::vector<std::string> base64_forms(std::string_view value) {
  std::vector<std::string> forms;
  for (size_t before = 0; before < 3; ++before) {
    const std::string encoded = to_base64(std::string(before, '\0') + std::string(value));
    // Characters that also have bits of what is before or behind are left out.
    const size_t from = before == 0 ? 0 : before + 1, to = 8 * (before + value.size()) / 6;
    std::string form = encoded.substr(from, to - from), safe = form;
    std::ranges::replace(safe, '+', '-');
    std::ranges::replace(safe, '/', '_');
    if (safe != form) forms.push_back(safe);
    forms.push_back(std::move(form));
  }
  return forms;
}

}  // namespace cove
