#pragma once

#include <memory>

#include "net/gateway/dns_server.h"
#include "net/gateway/resolver.h"
#include "net/gateway/sandbox_context.h"
#include "net/sockets.h"

namespace cove::net {

// All UDP of a sandbox, by its sockets kUdp4 and kUdp6: DNS is answered; the rest is refused with ICMP port
// unreachable, or relayed in the full tiers. Answers leave through kRaw4 and kRaw6, from the address that was asked.
class UdpRelay {
 public:
  static constexpr size_t kMostFlows = 256;
  static constexpr std::chrono::seconds kIdle{120};

  virtual ~UdpRelay() = default;  // ends all flows
  // Borrows the sockets, which must be open for as long as this lives.
  static Result<std::unique_ptr<UdpRelay>> start(SandboxContext& context, Resolver& resolver, DnsServer& dns,
                                                 const NetworkSockets& sockets);
  // The policy has changed: ends the flows that it no longer allows.
  virtual void policy_changed() = 0;
  // An exec has ended: what is denied from now on is logged, even if the same was just logged.
  virtual void forget_logged() = 0;
};

}  // namespace cove::net
