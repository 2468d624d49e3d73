#include "api/preview/headers.h"

#include <algorithm>

#include "api/preview/cookies.h"
#include "auth/keys.h"
#include "base/ascii.h"
#include "base/text.h"
#include "http1/percent.h"

namespace cove::api {
namespace {

// For one connection only, or ours to say anew.
constexpr std::string_view kNotPassedIn[] = {"connection",
                                             "keep-alive",
                                             "proxy-connection",
                                             "proxy-authenticate",
                                             "proxy-authorization",
                                             "te",
                                             "trailer",
                                             "transfer-encoding",
                                             "upgrade",
                                             "http2-settings",
                                             "content-length",
                                             "host",
                                             "expect",
                                             "forwarded",
                                             "x-forwarded-for",
                                             "x-forwarded-host",
                                             "x-forwarded-proto",
                                             "x-forwarded-port",
                                             "x-real-ip",
                                             "cove-project"};
// Alt-Svc would lead the browser elsewhere, Clear-Site-Data reach neighbours.
constexpr std::string_view kNotPassedOut[] = {"connection", "keep-alive",     "proxy-connection",  "proxy-authenticate",
                                              "te",         "trailer",        "transfer-encoding", "content-length",
                                              "alt-svc",    "clear-site-data"};
constexpr std::string_view kOwnSecrets[] = {kKeyPrefix, kTokenPrefix, kPreviewPrefix};
constexpr std::string_view kLoopbackNames[] = {"localhost", "127.0.0.1", "[::1]", "0.0.0.0"};

// Some servers take an underscore for a dash.
std::string plain_name(std::string_view name) {
  std::string plain = lower(name);
  std::ranges::replace(plain, '_', '-');
  return plain;
}

bool is_for_connection(const http::Headers& headers, std::string_view name) {
  return http1::any_lists_word(headers, "connection", name);
}

bool is_own_secret(std::string_view value) {
  return std::ranges::any_of(kOwnSecrets, [&](std::string_view prefix) { return value.starts_with(prefix); });
}

bool is_own_credential(std::string_view name, std::string_view value) {
  constexpr std::string_view kScheme = "bearer ";
  if (same_word(name, "x-api-key")) return is_own_secret(trim(value));
  return same_word(name, "authorization") && same_word(value.substr(0, kScheme.size()), kScheme) &&
         is_own_secret(trim(value.substr(kScheme.size())));
}

bool passes_in(const http::Request& request, std::string_view name, std::string_view value) {
  const std::string plain = plain_name(name);
  if (std::ranges::find(kNotPassedIn, plain) != std::end(kNotPassedIn)) return false;
  if (is_for_connection(request.headers, name) || is_own_credential(name, value)) return false;
  return !(plain == "referer" && value.contains(kTokenParameter));
}

void add_passed(http1::HeadWriter& head, const http::Request& request) {
  for (const auto& [name, value] : request.headers) {
    if (!passes_in(request, name, value)) continue;
    const bool cookie = same_word(name, "cookie");
    const std::string kept = cookie ? without_own_cookies(value) : value;
    if (!cookie || !kept.empty()) head.add(name, kept);
  }
}

std::string host_of_peer(const http::Peer& peer) {
  std::string_view address = peer.address;
  address = address.substr(0, address.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return std::string(address);
}

void add_forwarded(http1::HeadWriter& head, const http::Request& request, const Passage& passage) {
  if (!request.peer.local) head.add("X-Forwarded-For", host_of_peer(request.peer));
  head.add("X-Forwarded-Host", passage.authority);
  head.add("X-Forwarded-Proto", passage.scheme);
}

// "http://localhost:3000/login", for what is at port 3000: the same place as the browser knows it.
std::string location_outside(std::string_view value, const Passage& passage) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!same_word(value.substr(0, scheme.size()), scheme)) continue;
    std::string_view rest = value.substr(scheme.size());
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
    for (std::string_view name : kLoopbackNames)
      if (same_word(authority, concat(name, ":", passage.name.port)))
        return concat(passage.scheme, "://", passage.authority, rest.substr(authority.size()));
  }
  return std::string(value);
}

void add_missing(http::Headers& headers, const char* name, const char* value) {
  if (!http1::find_header(headers, name)) headers.emplace_back(name, value);
}

}  // namespace

Sent body_of(const http::Request& request) {
  if (request.header("transfer-encoding")) return Sent::Chunked;
  return request.header("content-length").value_or("0") != "0" ? Sent::Length : Sent::Nothing;
}

bool asks_to_switch(const http::Request& request) {
  return body_of(request) == Sent::Nothing && request.header("upgrade") &&
         http1::any_lists_word(request.headers, "connection", "upgrade");
}

std::string target_inside(const http::Request& request) {
  const size_t mark = request.target.find('?');
  if (mark == std::string::npos) return request.path;
  const std::string_view query = std::string_view(request.target).substr(mark + 1);
  const std::vector<std::string> pieces = split(query, '&');
  std::vector<std::string> kept;
  for (const std::string& piece : pieces)
    if (http1::percent_decode(piece.substr(0, piece.find('=')), http1::Plus::IsSpace) != kTokenParameter)
      kept.push_back(piece);
  if (kept.size() == pieces.size()) return concat(request.path, "?", query);
  return kept.empty() ? request.path : concat(request.path, "?", join(kept, "&"));
}

std::string head_inside(const http::Request& request, const Passage& passage, Continue asked) {
  http1::HeadWriter head(concat(request.method, " ", target_inside(request), " HTTP/1.1"));
  head.add("Host", passage.authority);
  add_passed(head, request);
  add_forwarded(head, request, passage);
  if (body_of(request) == Sent::Chunked) head.add("Transfer-Encoding", "chunked");
  if (auto length = request.header("content-length")) head.add("Content-Length", *length);
  if (asked == Continue::Asked) head.add("Expect", "100-continue");
  const bool switches = asks_to_switch(request);
  head.add("Connection", switches ? "Upgrade" : "close");
  if (switches) head.add("Upgrade", *request.header("upgrade"));
  return head.take();
}

http::Headers headers_outside(const http1::ResponseHead& head, const Passage& passage) {
  http::Headers headers;
  for (const auto& [name, value] : head.headers) {
    const std::string small = lower(name);
    const bool stays = std::ranges::find(kNotPassedOut, small) != std::end(kNotPassedOut) ||
                       (head.status != 101 && (small == "upgrade" || is_for_connection(head.headers, name)));
    if (stays) continue;
    if (small == "set-cookie") {
      if (auto confined = confined_cookie(value)) headers.emplace_back(name, std::move(*confined));
    } else {
      headers.emplace_back(name, small == "location" ? location_outside(value, passage) : value);
    }
  }
  if (head.status == 101) return headers;
  add_missing(headers, "Referrer-Policy", "same-origin");
  add_missing(headers, "Origin-Agent-Cluster", "?1");
  return headers;
}

}  // namespace cove::api
