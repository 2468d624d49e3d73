#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "http/exchange.h"

// Under which names this server may be addressed over TCP, and from which web pages. A page of somebody else's must not
// use it through a visitor's browser: neither by a name that he points at us (DNS rebinding) nor by a form (CSRF).
namespace cove::api {

class Hosts {
 public:
  explicit Hosts(const Config& config);

  // Of a Host header: "localhost:8080", "[::1]", one that is configured, or an address that it listens at.
  bool allows_host(std::string_view host) const;
  // Of an Origin header: one that is configured, or this server's own (`host` is the Host header, which was allowed).
  bool allows_origin(std::string_view origin, std::string_view host) const;
  // Whether the request's origin matters: it changes something, or opens a WebSocket.
  static bool needs_origin(const http::Request& request);

 private:
  std::vector<std::string> hosts_;    // in small letters, without ports
  std::vector<std::string> origins_;  // in small letters
};

// "[::1]:8080" → "::1"; "Localhost:80" → "localhost".
std::string host_name(std::string_view host);

}  // namespace cove::api
