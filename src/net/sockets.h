#pragma once

#include <array>

#include "base/unique_fd.h"

namespace cove {

// How packets reach the sockets below: TPROXY keeps the wanted address, a redirect needs SO_ORIGINAL_DST (TCP only).
enum class Steering { Tproxy, Redirect };

// The sockets in a sandbox's network namespace through which everything leaves it: transparent listeners for TCP,
// transparent datagram sockets that tell the wanted address, and raw ones for answers from any address. Those of IPv6
// are empty where the kernel has none. They work from outside the namespace, and keep it alive while they are open.
struct NetworkSockets {
  enum Index { kTcp4, kTcp6, kUdp4, kUdp6, kRaw4, kRaw6, kCount };
  Steering steering = Steering::Tproxy;
  std::array<UniqueFd, kCount> fds;
};

// Addresses inside. The sandbox has the first two; the gateway answers at the others: DNS (53), HTTP proxy (3128),
// SOCKS5 (1080) and http://cove.internal/ (80).
inline constexpr const char* kSandboxAddress4 = "10.0.2.100";
inline constexpr const char* kSandboxAddress6 = "fd00:c0e::2";
inline constexpr const char* kGatewayAddress4 = "10.0.2.3";
inline constexpr const char* kGatewayAddress6 = "fd00:c0e::3";
inline constexpr const char* kInternalName = "cove.internal";

}  // namespace cove
