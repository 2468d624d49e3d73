#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove::client {

// Where a server listens.
struct Address {
  enum class Kind { Unix, Tcp };
  Kind kind = Kind::Unix;
  std::string path;  // Unix
  std::string host;  // TCP: an address in numbers, or a name of /etc/hosts
  uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

// "unix:PATH", "tcp:HOST:PORT", "tcp:[::1]:PORT"; also with "//" after the first colon, as docker writes it. Invalid.
Result<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

// $COVE_STATE/run/api.sock where that is set; else /run/cove/api.sock for root, and for others
// $XDG_RUNTIME_DIR/cove/api.sock or /tmp/cove-UID/api.sock.
std::string own_socket();

}  // namespace cove::client
