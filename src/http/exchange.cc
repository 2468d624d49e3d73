#include "http/exchange.h"

#include <algorithm>

#include "base/ascii.h"

namespace cove::http {

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
