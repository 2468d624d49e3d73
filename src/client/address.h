#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove::client {

// Where a server listens.
struct Address {
  enum class Kind { Unix, Tcp, Tls };
  Kind kind = Kind::Unix;
  std::string path;  // Unix
  std::string host;  // an address in numbers, or a name: of /etc/hosts for TCP, any for TLS
  uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

// "unix:PATH", "tcp:HOST:PORT" or "http://HOST:PORT", "https://HOST[:PORT]"; "//" after the first colon may be there or
// not. An IPv6 address is in brackets, with a zone or not: "[fe80::1%eth0]". Nothing follows but a slash. Invalid; then
// the message does not repeat a text with user information, which may be a secret.
Result<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);
// For a Host header: "localhost", "host:80", "[::1]:80"; without the zone, which means something on this machine only.
std::string authority_of(const Address& address);

// The address in numbers of a host that has one in /etc/hosts; else the host itself.
std::string number_of(const std::string& host);
// Whether what is sent to this address in numbers stays on this machine.
bool is_loopback(const std::string& number);
// Denied: that server is on another machine, or may be, and keys must not cross a network in clear.
std::unexpected<Error> not_encrypted(const Address& address);

// $COVE_STATE/run/api.sock where that is set; else /run/cove/api.sock for root, and for others
// $XDG_RUNTIME_DIR/cove/api.sock or /tmp/cove-UID/api.sock.
std::string own_socket();

}  // namespace cove::client
