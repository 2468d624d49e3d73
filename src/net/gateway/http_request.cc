#include "net/gateway/http_request.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/text.h"
#include "http1/request.h"

namespace cove::net {
namespace {

using http1::Headers;
using http1::Malformed;
using http1::malformed;

constexpr std::string_view kConnectionHeaders[] = {
    "connection", "keep-alive",        "proxy-connection", "proxy-authorization", "proxy-authenticate",
    "te",         "transfer-encoding", "upgrade",          "http2-settings"};
// What no Connection header may take away: it would change what the request is.
constexpr std::string_view kNeverDropped[] = {"host", "content-length", "transfer-encoding"};

template <typename List>
bool lists(const List& list, std::string_view word) {
  return std::ranges::any_of(list, [&](std::string_view each) { return same_word(each, word); });
}

std::expected<uint16_t, Malformed> parse_port(std::string_view text) {
  auto number = parse_integer(text, 1, 65535);
  if (!number || text.find_first_not_of("0123456789") != std::string_view::npos)
    return malformed("the port of the host is malformed");
  return static_cast<uint16_t>(*number);
}

std::expected<RequestedHost, Malformed> parse_host(std::string_view text) {
  RequestedHost requested;
  if (text.starts_with('[')) {
    auto address = text.ends_with(']') ? parse_address(text.substr(1, text.size() - 2)) : fail(Code::Invalid, "");
    if (!address) return malformed("the address of the host is malformed");
    requested.address = *address;
    return requested;
  }
  if (text.contains(':')) return malformed("the host is malformed");
  if (auto address = parse_address(text)) {
    requested.address = *address;
    return requested;
  }
  auto name = normalize_name(text);
  if (!name || looks_numeric(text)) return malformed("the host is no name that DNS could have");
  requested.name = std::move(*name);
  return requested;
}

// "http://host:port/path?query" → authority, and the target in origin form.
struct Absolute {
  std::string_view authority;
  std::string target;
};
std::expected<Absolute, Malformed> parse_absolute(std::string_view url) {
  if (url.size() >= 8 && same_word(url.substr(0, 8), "https://"))
    return malformed("https:// cannot be asked of a proxy in cleartext: use CONNECT");
  if (url.size() < 7 || !same_word(url.substr(0, 7), "http://"))
    return malformed("a proxy takes requests for http://HOST/PATH");
  url.remove_prefix(7);
  const size_t end = std::min(url.find_first_of("/?"), url.size());
  std::string target(url.substr(end));
  if (!target.starts_with('/')) target.insert(0, "/");
  return Absolute{url.substr(0, end), std::move(target)};
}

bool same_host(const RequestedHost& a, const RequestedHost& b) {
  return a.name == b.name && a.address == b.address && a.port.value_or(80) == b.port.value_or(80);
}

std::expected<void, Malformed> read_host_header(HttpRequest& request) {
  if (http1::count_headers(request.head.headers, "host") > 1) return malformed("more than one Host header");
  auto host = http1::find_header(request.head.headers, "host");
  if (!host && request.http11) return malformed("the Host header is missing");
  if (!host) return {};
  auto requested = parse_requested_host(*host);
  if (!requested) return std::unexpected(std::move(requested).error());
  request.requested = std::move(*requested);
  request.host = *host;
  return {};
}

std::expected<void, Malformed> read_absolute(HttpRequest& request, std::string_view url) {
  auto absolute = parse_absolute(url);
  if (!absolute) return std::unexpected(std::move(absolute).error());
  auto requested = parse_requested_host(absolute->authority);
  if (!requested) return std::unexpected(std::move(requested).error());
  if (request.requested && !same_host(*request.requested, *requested))
    return malformed("the Host header names another host than the request's target");
  request.requested = std::move(*requested);
  request.host = absolute->authority;
  request.head.target = std::move(absolute->target);
  return {};
}

std::expected<void, Malformed> read_target(HttpRequest& request, std::string_view target, TargetForm form) {
  if (target.contains('#')) return malformed("the request's target has a fragment");
  if (form == TargetForm::Absolute) {
    if (auto read = read_absolute(request, target); !read) return read;
  } else if (target.starts_with('/') || (target == "*" && request.method == "OPTIONS")) {
    request.head.target = target;
  } else {
    return malformed("the request's target is no path: this is not a proxy");
  }
  request.path = request.head.target.substr(0, request.head.target.find('?'));
  return {};
}

std::expected<void, Malformed> check_method(std::string_view method) {
  if (method == "CONNECT") return malformed(405, "CONNECT is possible only as the first request to the proxy");
  if (method == "TRACE" || method == "TRACK") return malformed(405, concat(method, " is not forwarded"));
  return {};
}

std::expected<void, Malformed> read_headers(HttpRequest& request) {
  const Headers& headers = request.head.headers;
  for (std::string_view name : kNeverDropped)
    if (http1::any_lists_word(headers, "connection", name)) return malformed(concat("Connection names ", name));
  auto told = http1::told_framing(headers, request.http11, http1::RepeatedLength::Refused);
  if (!told) return std::unexpected(std::move(told).error());
  request.framing = told->value_or(http1::Framing{});
  request.keeps_alive = request.http11 && !http1::any_lists_word(headers, "connection", "close");
  auto expect = http1::find_header(headers, "expect");
  if (expect && !same_word(*expect, "100-continue")) return malformed(417, "only 100-continue can be expected");
  request.expects_continue = expect.has_value() && request.http11;
  request.websocket = request.http11 && request.method == "GET" && request.framing.empty() &&
                      http1::any_lists_word(headers, "connection", "upgrade") &&
                      http1::any_lists_word(headers, "upgrade", "websocket");
  return {};
}

}  // namespace

std::expected<RequestedHost, Malformed> parse_requested_host(std::string_view text) {
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  auto requested = parse_host(text.substr(0, colon));
  if (!requested || colon == std::string_view::npos) return requested;
  auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::unexpected(std::move(port).error());
  requested->port = *port;
  return requested;
}

std::expected<HttpRequest, Malformed> parse_request(http1::HeadReader& reader, TargetForm form) {
  auto line = http1::parse_request_line(reader.first_line());
  if (!line) return std::unexpected(std::move(line).error());
  HttpRequest request;
  request.method = line->method;
  request.http11 = line->http11;
  request.head.headers = std::move(reader.headers());
  std::expected<void, Malformed> step = check_method(request.method);
  if (step) step = read_host_header(request);
  if (step) step = read_target(request, line->target, form);
  if (step) step = read_headers(request);
  if (!step) return std::unexpected(std::move(step).error());
  return request;
}

bool is_for_connection(const Headers& headers, std::string_view name) {
  return lists(kConnectionHeaders, name) || http1::any_lists_word(headers, "connection", name);
}

std::string forwarded_head(const HttpRequest& request, const RequestHead& head, ForwardedHead how) {
  http1::HeadWriter writer(concat(request.method, " ", head.target, " HTTP/1.1"));
  writer.add("Host", request.host);
  for (const auto& [name, value] : head.headers) {
    if (same_word(name, "host") || is_for_connection(head.headers, name)) continue;
    if (how.identity && (same_word(name, "accept-encoding") || same_word(name, "sec-websocket-extensions"))) continue;
    if (how.whole && (same_word(name, "range") || same_word(name, "if-range"))) continue;
    if (same_word(name, "expect") && !request.expects_continue) continue;
    writer.add(name, value);
  }
  if (how.identity) writer.add("Accept-Encoding", "identity");
  if (request.framing.chunked()) writer.add("Transfer-Encoding", "chunked");
  const bool trailers = http1::any_lists_word(head.headers, "te", "trailers");
  if (trailers) writer.add("TE", "trailers");
  if (request.websocket) {
    writer.add("Upgrade", "websocket").add("Connection", "Upgrade");
  } else if (!how.keeps_alive) {
    writer.add("Connection", trailers ? "close, TE" : "close");
  } else if (trailers) {
    writer.add("Connection", "TE");
  }
  return writer.take();
}

}  // namespace cove::net
