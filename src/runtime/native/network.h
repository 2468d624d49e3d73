#pragma once

#include <vector>

#include "base/result.h"
#include "base/wire.h"
#include "net/sockets.h"

namespace cove::native {

// Joins the user and network namespaces of that process and sets the network up (net/namespace.h). For a process with
// one thread that ends soon: it cannot come back.
Result<NetworkSockets> join_and_open_network(int process_1);
// The same in a child of this process.
Result<NetworkSockets> open_network_of(int process_1);

// As a message: steering, a bit for each socket that is there; and these sockets.
struct NetworkMessage {
  wire::Writer text;
  std::vector<UniqueFd> fds;
};
NetworkMessage encode(NetworkSockets sockets);
Result<NetworkSockets> decode_network(wire::Reader& in, std::vector<UniqueFd> fds);

}  // namespace cove::native
