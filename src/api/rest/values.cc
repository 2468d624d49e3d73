#include "api/rest/values.h"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "image/reference.h"

namespace cove::api {
namespace {

constexpr size_t kMaxName = 63;
constexpr size_t kMaxAgent = 128;
constexpr size_t kMaxUser = 32;
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSmall = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kAlphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool only(std::string_view text, std::string_view characters, std::string_view more = "") {
  for (char c : text)
    if (characters.find(c) == std::string_view::npos && more.find(c) == std::string_view::npos) return false;
  return true;
}

bool is_user_id(std::string_view text) {
  constexpr int64_t kHighest = UINT32_MAX - 1;  // the last one means "no user"
  return only(text, kDigits) && parse_integer(text, 0, kHighest).has_value();
}

bool is_user_name(std::string_view text) {
  constexpr std::string_view kNotFirst = "0123456789.-";
  return !text.empty() && text.size() <= kMaxUser && only(text, kAlphanumeric, "_.-") &&
         kNotFirst.find(text[0]) == std::string_view::npos;
}

}  // namespace

Result<std::string> check_name(std::string text) {
  bool fits = !text.empty() && text.size() <= kMaxName && only(text, kAlphanumeric, "_.-") &&
              only(text.substr(0, 1), kAlphanumeric);
  if (fits) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a name"))
                  .hint("1 to 63 letters, digits, '_', '.' and '-', the first a letter or a digit"));
}

Result<std::string> check_project(std::string text) {
  if (!text.empty() && text.size() <= kMaxName && only(text, kSmall, "-") && text[0] != '-') return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not the id of a project"))
                  .hint("1 to 63 small letters, digits and '-', the first a letter or a digit"));
}

Result<std::string> check_agent(std::string text) {
  bool plain = std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!text.empty() && text.size() <= kMaxAgent && plain) return text;
  return fail(Error(Code::Invalid, "that is not the name of an agent")
                  .hint(concat("1 to ", kMaxAgent, " bytes without control characters")));
}

Result<std::string> check_user(std::string text) {
  size_t colon = text.find(':');
  std::string_view view = text;
  bool ids = is_user_id(view.substr(0, colon)) && (colon == std::string::npos || is_user_id(view.substr(colon + 1)));
  if (ids || is_user_name(text)) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a user")).hint("write a name, like root, or UID[:GID]"));
}

Result<std::string> check_image(std::string text) {
  constexpr std::string_view kPrefix = "host@";
  if (text == "host") return text;
  if (!text.starts_with(kPrefix)) {
    if (!is_digest(text)) COVE_TRY(parse_reference(text));
    return text;
  }
  std::string_view print = std::string_view(text).substr(kPrefix.size());
  if (print.size() == 16 && only(print, "0123456789abcdef")) return text;
  return fail(
      Error(Code::Invalid, concat("'", text, "' is not an image")).hint("a fingerprint has 16 hexadecimal digits"));
}

bool is_variable(const std::string& name) { return !name.empty() && name.find('=') == std::string::npos; }

}  // namespace cove::api
