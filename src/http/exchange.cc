#include "http/exchange.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/id.h"

namespace cove::http {
namespace {

constexpr size_t kLongestId = 128;

// What can be put into a header, a log and a command line as it is.
bool is_request_id(std::string_view text) {
  auto plain = [](unsigned char c) {
    return std::string_view("-_.:/+=@").contains(static_cast<char>(c)) || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !text.empty() && text.size() <= kLongestId && std::ranges::all_of(text, plain);
}

}  // namespace

void Request::take_id() {
  std::string_view theirs = header("x-request-id").value_or("");
  id = is_request_id(theirs) ? std::string(theirs) : make_id();
}

std::optional<std::string_view> Request::header(std::string_view name) const {
  auto found =
      std::find_if(headers.begin(), headers.end(), [&](auto& header) { return same_word(header.first, name); });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> Request::parameter(std::string_view name) const {
  auto found = std::find_if(query.begin(), query.end(), [&](auto& parameter) { return parameter.first == name; });
  if (found == query.end()) return std::nullopt;
  return found->second;
}

}  // namespace cove::http
