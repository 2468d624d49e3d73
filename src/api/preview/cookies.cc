#include "api/preview/cookies.h"

#include "base/ascii.h"
#include "base/text.h"

namespace cove::api {
namespace {

std::string_view name_of(std::string_view pair) { return trim(pair.substr(0, pair.find('='))); }

bool is_own(std::string_view pair) {
  return same_word(name_of(pair), kPreviewCookie) || same_word(name_of(pair), kSecurePreviewCookie);
}

}  // namespace

std::vector<std::string> own_cookies(std::string_view header) {
  std::vector<std::string> values;
  for (const std::string& pair : split(header, ';')) {
    size_t equals = pair.find('=');
    if (is_own(pair) && equals != std::string::npos)
      values.emplace_back(trim(std::string_view(pair).substr(equals + 1)));
  }
  return values;
}

std::string without_own_cookies(std::string_view header) {
  std::vector<std::string> kept;
  for (const std::string& pair : split(header, ';'))
    if (!is_own(pair) && !trim(pair).empty()) kept.emplace_back(trim(pair));
  return join(kept, "; ");
}

std::optional<std::string> confined_cookie(std::string_view header) {
  const std::vector<std::string> pieces = split(header, ';');
  // One without a name is sent as its value alone, which could look like ours.
  const bool nameless = name_of(pieces.front()).empty() || pieces.front().find('=') == std::string::npos;
  std::string_view value = trim(std::string_view(pieces.front()).substr(pieces.front().find('=') + 1));
  if (is_own(pieces.front()) || (nameless && is_own(value))) return std::nullopt;
  std::vector<std::string> kept;
  for (const std::string& piece : pieces)
    if (kept.empty() || !same_word(name_of(piece), "domain")) kept.emplace_back(trim(piece));
  return join(kept, "; ");
}

}  // namespace cove::api
