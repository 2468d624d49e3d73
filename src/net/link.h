#pragma once

#include "base/result.h"

namespace cove::net {

// For programs with a network stack of their own (gVisor), which know nothing of routes that lead to their own
// namespace: a pair of interfaces leads from theirs to another one, where the sockets are (Programs::BehindLink).
inline constexpr const char* kLinkName = "guest";         // in the namespace of the sockets
inline constexpr const char* kLinkAddress4 = "10.0.2.2";  // its address, and the programs' gateway

// Called in the programs' namespace, which is new: gives it an interface with the sandbox's address, and routes
// everything to the other namespace. Needs CAP_NET_ADMIN over both.
Result<void> link_to(int other_namespace);

}  // namespace cove::net
