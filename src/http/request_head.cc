#include "http/request_head.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/text.h"
#include "http1/percent.h"

namespace cove::http {
namespace {

using http1::malformed;

// "http://host:80/path" → "host:80" and "/path": what proxies are asked, and servers must take too.
std::optional<std::pair<std::string, std::string>> split_absolute(std::string_view target) {
  size_t mark = target.find("://");
  if (mark == std::string_view::npos) return std::nullopt;
  std::string_view scheme = target.substr(0, mark);
  if (!same_word(scheme, "http") && !same_word(scheme, "https")) return std::nullopt;
  std::string_view rest = target.substr(mark + 3);
  size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view path = rest.substr(end);
  return std::pair(std::string(rest.substr(0, end)), concat(path.starts_with('/') ? "" : "/", path));
}

void set_host(Headers& headers, std::string host) {
  std::erase_if(headers, [](auto& header) { return same_word(header.first, "host"); });
  headers.emplace_back("Host", std::move(host));
}

std::expected<void, Malformed> complete_target(Request& request) {
  std::string target = request.target;
  if (auto absolute = split_absolute(target); absolute && target.front() != '/') {
    if (absolute->first.empty()) return malformed("the request's target has no host");
    set_host(request.headers, std::move(absolute->first));
    target = std::move(absolute->second);
  }
  if (target.empty() || (target.front() != '/' && target != "*")) return malformed("the request's target is no path");
  size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  if (!http1::percent_decode(request.path)) return malformed("the path has a malformed escape");
  auto query = http1::parse_query(std::string_view(target).substr(std::min(mark + 1, target.size())));
  if (!query) return malformed("the query has a malformed escape");
  request.query = std::move(*query);
  return {};
}

std::expected<void, Malformed> check_host(const Head& head) {
  size_t hosts = http1::count_headers(head.request.headers, "host");
  if (hosts > 1) return malformed("more than one Host header");
  if (hosts == 0 && head.http11) return malformed("no Host header");
  return {};
}

std::expected<void, Malformed> complete_framing(Head& head) {
  const Headers& headers = head.request.headers;
  auto told = http1::told_framing(headers, head.http11, http1::RepeatedLength::Refused);
  if (!told) return std::unexpected(std::move(told).error());
  head.framing = told->value_or(http1::Framing());
  auto expectation = head.request.header("expect");
  head.expects_continue =
      head.http11 && !head.framing.empty() && expectation && same_word(*expectation, "100-continue");
  return {};
}

bool wants_keep_alive(const Head& head) {
  const Headers& headers = head.request.headers;
  if (http1::any_lists_word(headers, "connection", "close")) return false;
  return head.http11 || http1::any_lists_word(headers, "connection", "keep-alive");
}

}  // namespace

std::expected<void, Malformed> complete(Head& head) {
  head.keep_alive = wants_keep_alive(head);
  if (auto done = complete_framing(head); !done) return done;
  if (auto done = complete_target(head.request); !done) return done;
  return check_host(head);
}

}  // namespace cove::http
