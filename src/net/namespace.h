#pragma once

#include "base/result.h"
#include "net/sockets.h"

namespace cove::net {

// Sets the network up in the calling thread's network namespace, which has nothing but a loopback interface: every
// address leads to that interface, where nftables steers connections and datagrams to the sockets that are returned.
// Needs CAP_NET_ADMIN and CAP_NET_RAW over the namespace, and its /proc/sys/net.
//
// Where this was done before, the new sockets replace the earlier ones in one step, while programs run. Uses TPROXY, or
// a redirect where the kernel has no TPROXY. Unsupported where it has neither.
Result<NetworkSockets> set_up_namespace();
// The same with this way only.
Result<NetworkSockets> set_up_namespace(Steering steering);

}  // namespace cove::net
