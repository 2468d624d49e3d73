#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/rule.h"

// IP packets that the gateway sends into a sandbox over raw sockets, where no other socket may answer from any address.
namespace cove::net {

struct Endpoint {
  Address address;
  uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

inline constexpr size_t kMostUdp4 = 65507;  // bytes of a datagram over IPv4
inline constexpr size_t kMostUdp6 = 65487;  // that fits into the loopback interface's packets, too

// A datagram. Both ends are of the same family; empty where it does not fit into a packet.
std::string udp_packet(const Endpoint& from, const Endpoint& to, std::string_view payload);
// What tells the sender of a datagram (`from`, `to`, its payload) that nothing listens at `to`.
std::string port_unreachable_packet(const Endpoint& from, const Endpoint& to, std::string_view payload);

// The Internet checksum (RFC 1071) over bytes: zero where they hold their own.
uint16_t checksum(std::string_view bytes, uint32_t sum = 0);

}  // namespace cove::net
