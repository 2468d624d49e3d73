#include "image/proxies.h"

#include <curl/curl.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace cove {
namespace {

constexpr const char* kVariables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};

// libcurl's default port for a proxy.
const char* default_port(const std::string& scheme) { return scheme == "https" ? "443" : "1080"; }

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  std::string value = ::curl_url_get(url, part, &text, 0) == CURLUE_OK ? text : "";
  ::curl_free(text);
  return value;
}

void add_addresses(std::string host, const std::string& port, std::vector<sockaddr_storage>& addresses) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found) != 0) return;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    std::memcpy(&addresses.emplace_back(), each->ai_addr, each->ai_addrlen);
  }
  ::freeaddrinfo(found);
}

bool is_same(const sockaddr& one, const sockaddr& other) {
  if (one.sa_family != other.sa_family) return false;
  if (one.sa_family == AF_INET) {
    const auto &a = reinterpret_cast<const sockaddr_in&>(one), &b = reinterpret_cast<const sockaddr_in&>(other);
    return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
  }
  if (one.sa_family != AF_INET6) return false;
  const auto &a = reinterpret_cast<const sockaddr_in6&>(one), &b = reinterpret_cast<const sockaddr_in6&>(other);
  return a.sin6_port == b.sin6_port && std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

}  // namespace

std::vector<sockaddr_storage> find_proxies() {
  std::vector<sockaddr_storage> addresses;
  for (const char* name : kVariables) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    std::unique_ptr<CURLU, void (*)(CURLU*)> url(::curl_url(), &::curl_url_cleanup);
    // Without a scheme, it is an HTTP proxy.
    constexpr unsigned kFlags = CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME;
    if (!url || ::curl_url_set(url.get(), CURLUPART_URL, value, kFlags) != CURLUE_OK) continue;
    const std::string port = part_of(url.get(), CURLUPART_PORT);
    add_addresses(part_of(url.get(), CURLUPART_HOST),
                  port.empty() ? default_port(part_of(url.get(), CURLUPART_SCHEME)) : port, addresses);
  }
  return addresses;
}

bool has_address(const std::vector<sockaddr_storage>& addresses, const sockaddr& address) {
  return std::ranges::any_of(addresses, [&](const sockaddr_storage& each) {
    return is_same(reinterpret_cast<const sockaddr&>(each), address);
  });
}

}  // namespace cove
