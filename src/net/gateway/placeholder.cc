#include "net/gateway/placeholder.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/text.h"
#include "http1/percent.h"
#include "net/policy_match.h"

namespace cove::net {
namespace {

bool names(const BrokeredSecret& secret, std::string_view place) {
  return std::ranges::any_of(secret.places, [&](const std::string& each) { return same_word(each, place); });
}

bool fits_header(std::string_view value) {
  return std::ranges::none_of(value,
                              [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; });
}

bool replace_all(std::string& text, std::string_view from, std::string_view to) {
  bool any = false;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    any = true;
  }
  return any;
}

// "Basic dXNlcjpwYXNz": user and password each for itself, so that nothing is found across the colon.
bool put_into_basic(const BrokeredSecret& secret, std::string& header) {
  const size_t begin = header.find_first_not_of(' ', header.find(' '));
  auto decoded = begin == std::string::npos ? std::nullopt : from_base64(trim(std::string_view(header).substr(begin)));
  if (!decoded) return false;
  const size_t colon = std::min(decoded->find(':'), decoded->size());
  std::string user = decoded->substr(0, colon), rest = decoded->substr(colon);
  const bool in_user = replace_all(user, secret.placeholder, secret.value);
  if (!replace_all(rest, secret.placeholder, secret.value) && !in_user) return false;
  header = concat(header.substr(0, begin), to_base64(concat(user, rest)));
  return true;
}

bool is_basic(std::string_view header) { return header.size() > 6 && same_word(header.substr(0, 6), "basic "); }

bool put_into_header(const BrokeredSecret& secret, std::string_view name, std::string& value) {
  if (same_word(name, "authorization") && is_basic(value)) return put_into_basic(secret, value);
  return fits_header(secret.value) && replace_all(value, secret.placeholder, secret.value);
}

// "key=a%2Db": the value is decoded, and encoded anew only if the placeholder was in it.
bool put_into_parameter(const BrokeredSecret& secret, std::string& parameter) {
  const size_t equals = parameter.find('=');
  if (equals == std::string::npos) return false;
  auto value = http1::percent_decode(std::string_view(parameter).substr(equals + 1), http1::Plus::IsSpace);
  if (!value || !replace_all(*value, secret.placeholder, secret.value)) return false;
  parameter = concat(parameter.substr(0, equals + 1), percent_encode(*value));
  return true;
}

bool put_into_query(const BrokeredSecret& secret, std::string& target) {
  const size_t mark = target.find('?');
  if (mark == std::string::npos) return false;
  std::vector<std::string> parameters = split(std::string_view(target).substr(mark + 1), '&');
  bool any = false;
  for (std::string& parameter : parameters) any = put_into_parameter(secret, parameter) || any;
  if (any) target = concat(target.substr(0, mark + 1), join(parameters, "&"));
  return any;
}

}  // namespace

bool is_for(const BrokeredSecret& secret, const std::string& name, uint16_t port) {
  return std::ranges::any_of(secret.hosts, [&](const std::string& host) {
    auto rule = parse_rule(host);
    return rule && is_about(*rule, name, port);
  });
}

bool put_in(const BrokeredSecret& secret, RequestHead& head) {
  if (secret.placeholder.empty()) return false;
  bool any = names(secret, "query") && put_into_query(secret, head.target);
  for (auto& [name, value] : head.headers) any = (names(secret, name) && put_into_header(secret, name, value)) || any;
  return any;
}

}  // namespace cove::net
