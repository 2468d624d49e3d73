#include "api/rest/hosts.h"

#include <algorithm>

#include "base/ascii.h"

namespace cove::api {
namespace {

constexpr std::string_view kSafeMethods[] = {"GET", "HEAD", "OPTIONS"};

bool fits(const std::string& pattern, const std::string& host) {
  if (pattern == "*") return true;
  if (!pattern.starts_with("*.")) return pattern == host;
  return host.size() > pattern.size() - 1 && host.ends_with(pattern.substr(1));
}

}  // namespace

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return lower(host.substr(1, host.find(']') - 1));
  return lower(host.substr(0, host.find(':')));
}

Hosts::Hosts(const Config& config) : hosts_{"localhost", "127.0.0.1", "::1"} {
  for (const ListenAddress& address : config.listen)
    if (address.kind == ListenAddress::Kind::Tcp && address.host != "0.0.0.0" && address.host != "::" &&
        address.host != "*")
      hosts_.push_back(
          host_name(address.host.find(':') == std::string::npos ? address.host : "[" + address.host + "]"));
  for (const std::string& host : config.allowed_hosts) hosts_.push_back(host_name(host));
  for (const std::string& origin : config.allowed_origins) origins_.push_back(lower(origin));
}

bool Hosts::allows_host(std::string_view host) const {
  std::string name = host_name(host);
  return !name.empty() && std::ranges::any_of(hosts_, [&](const std::string& pattern) { return fits(pattern, name); });
}

bool Hosts::allows_origin(std::string_view origin, std::string_view host) const {
  std::string small = lower(origin);
  if (std::ranges::any_of(origins_, [&](const std::string& each) { return each == "*" || each == small; })) return true;
  size_t scheme = small.find("://");
  return scheme != std::string::npos && small.substr(scheme + 3) == lower(host);
}

bool Hosts::needs_origin(const http::Request& request) {
  bool safe = std::ranges::find(kSafeMethods, request.method) != std::end(kSafeMethods);
  return !safe || request.header("upgrade").has_value();
}

}  // namespace cove::api
