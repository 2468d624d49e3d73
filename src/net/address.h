#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cove::net {

// An IP address; an IPv4 one is kept mapped (::ffff:a.b.c.d).
struct Address {
  std::array<uint8_t, 16> bytes = {};
  bool is_v4() const;
  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;
};
// Strict: dotted quads of four decimal numbers, or IPv6. What inet_aton takes besides (octal, hexadecimal, fewer parts)
// is Invalid.
Result<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);
// Whether the text is a number that some resolver takes for an address: "0x7f.1", "2130706433", "127.1". Wider than any
// of them: all whose last part is a number.
bool looks_numeric(std::string_view host);

// `bits` is counted in 128; an IPv6 network contains no IPv4 address.
bool in_network(const Address& address, const Address& network, int bits);

// What the address leads to: an IPv4 address embedded for NAT64 (64:ff9b::/96) is that address.
Address translated(const Address& address);

// A network that is not of the public Internet.
struct SpecialNetwork {
  const char* what;  // "private", "loopback", "link-local"
  int bits;          // counted in 128
};
// The one that the address is in: private, loopback, link-local, metadata, multicast, reserved, and IPv6 forms of
// these; null for a public address.
const SpecialNetwork* special_network(const Address& address);
bool is_public(const Address& address);
// Whether every address of the network is; `bits` as in in_network().
bool is_public(const Address& network, int bits);

}  // namespace cove::net
