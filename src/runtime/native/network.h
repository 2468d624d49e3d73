#pragma once

#include <vector>

#include "base/result.h"
#include "base/wire.h"
#include "net/namespace.h"
#include "net/sockets.h"

namespace cove::native {

// Joins the user and network namespaces of that process and sets the network up (net/namespace.h). For a process with
// one thread that ends soon: it cannot come back.
struct NetworkPlace {
  int process_1;  // its pidfd
  net::Programs programs;
};
Result<NetworkSockets> join_and_open_network(const NetworkPlace& place);
// The same in a child of this process.
Result<NetworkSockets> open_network_of(const NetworkPlace& place);

// Tries in a new namespace whether this machine can give sandboxes a network; the sockets are closed again.
Result<NetworkSockets> probe_network();

// As a message: steering, a bit for each socket that is there; and these sockets.
struct NetworkMessage {
  wire::Writer text;
  std::vector<UniqueFd> fds;
};
NetworkMessage encode(NetworkSockets sockets);
Result<NetworkSockets> decode_network(wire::Reader& in, std::vector<UniqueFd> fds);

}  // namespace cove::native
