#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/sandbox_info.h"
#include "init/protocol.h"

namespace cove::engine {

// A TCP port at which a process in a sandbox listens.
struct ListeningPort {
  uint16_t port = 0;
  std::string address;  // as text: "127.0.0.1", "::"
  uint64_t pid = 0;     // inside; 0: not known
  std::string name;     // of the process
  std::string command;
  PortRule rule;
};

// What a sandbox told: in the order of the ports, each once. Of several sockets, the one counts that is reached over
// loopback.
std::vector<ListeningPort> listening_ports(const std::vector<wire::ListeningSocket>& sockets,
                                           const SandboxInfo& sandbox);

}  // namespace cove::engine
