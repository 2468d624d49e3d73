#include "http/request_head.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "http/ascii.h"
#include "http/percent.h"

namespace cove::http {
namespace {

std::unexpected<Malformed> refuse(int status, std::string reason) {
  return std::unexpected(Malformed{status, std::move(reason)});
}

size_t count_of(const Headers& headers, std::string_view name) {
  return static_cast<size_t>(
      std::count_if(headers.begin(), headers.end(), [&](auto& header) { return same_word(header.first, name); }));
}

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
    if (absolute->first.empty()) return refuse(400, "the request's target has no host");
    set_host(request.headers, std::move(absolute->first));
    target = std::move(absolute->second);
  }
  if (target.empty() || (target.front() != '/' && target != "*")) return refuse(400, "the request's target is no path");
  size_t mark = std::min(target.find('?'), target.size());
  request.path = target.substr(0, mark);
  if (!percent_decode(request.path)) return refuse(400, "the path has a malformed escape");
  auto query = parse_query(std::string_view(target).substr(std::min(mark + 1, target.size())));
  if (!query) return refuse(400, "the query has a malformed escape");
  request.query = std::move(*query);
  return {};
}

std::expected<void, Malformed> check_host(const Head& head) {
  size_t hosts = count_of(head.request.headers, "host");
  if (hosts > 1) return refuse(400, "more than one Host header");
  if (hosts == 0 && head.http11) return refuse(400, "no Host header");
  return {};
}

std::expected<void, Malformed> complete_chunked(Head& head, std::string_view coding) {
  if (count_of(head.request.headers, "transfer-encoding") > 1)
    return refuse(400, "more than one Transfer-Encoding header");
  if (head.request.header("content-length")) return refuse(400, "both Transfer-Encoding and Content-Length");
  if (!head.http11) return refuse(400, "Transfer-Encoding in HTTP/1.0");
  if (!same_word(coding, "chunked")) return refuse(501, concat("transfer coding ", coding, " is not known"));
  head.framing.chunked = true;
  return {};
}

std::expected<void, Malformed> complete_length(Head& head, std::string_view length) {
  if (count_of(head.request.headers, "content-length") > 1) return refuse(400, "more than one Content-Length header");
  auto number = parse_integer(length, 0, INT64_MAX);
  if (!number || length.find_first_not_of("0123456789") != std::string_view::npos)
    return refuse(400, "Content-Length is no number of bytes");
  head.framing.length = static_cast<uint64_t>(*number);
  return {};
}

std::expected<void, Malformed> complete_framing(Head& head) {
  head.framing = {};
  if (auto coding = head.request.header("transfer-encoding")) {
    if (auto done = complete_chunked(head, *coding); !done) return done;
  } else if (auto length = head.request.header("content-length")) {
    if (auto done = complete_length(head, *length); !done) return done;
  }
  auto expectation = head.request.header("expect");
  head.framing.expects_continue =
      head.http11 && !head.framing.empty() && expectation && same_word(*expectation, "100-continue");
  return {};
}

bool wants_keep_alive(const Head& head) {
  bool kept = false;
  for (auto& [name, value] : head.request.headers) {
    if (!same_word(name, "connection")) continue;
    if (lists_word(value, "close")) return false;
    kept = kept || lists_word(value, "keep-alive");
  }
  return head.http11 || kept;
}

}  // namespace

std::expected<void, Malformed> complete(Head& head) {
  head.keep_alive = wants_keep_alive(head);
  if (auto done = complete_framing(head); !done) return done;
  if (auto done = complete_target(head.request); !done) return done;
  return check_host(head);
}

}  // namespace cove::http
