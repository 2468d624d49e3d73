#pragma once

#include "base/result.h"
#include "net/sockets.h"

namespace cove::net {

// Where a sandbox's programs are: in the namespace, or in another one that is linked to it (net/link.h).
enum class Programs { Here, BehindLink };

// Sets the network up in the calling thread's network namespace, which has nothing but a loopback interface: every
// address leads to that interface, where nftables steers connections and datagrams to the sockets that are returned.
// Needs CAP_NET_ADMIN and CAP_NET_RAW over the namespace, and its /proc/sys/net.
//
// Where this was done before, the new sockets replace the earlier ones in one step, while programs run. Uses TPROXY, or
// a redirect where the kernel has no TPROXY. Unsupported where it has neither.
//
// With a link there is no IPv6, and TPROXY only; Unsupported where there is no link.
Result<NetworkSockets> set_up_namespace(Programs programs = Programs::Here);
// The same in this way only.
Result<NetworkSockets> set_up_namespace(Programs programs, Steering steering);

}  // namespace cove::net
