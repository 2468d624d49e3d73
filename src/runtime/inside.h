#pragma once

#include <chrono>
#include <vector>

#include "base/result.h"
#include "init/protocol.h"

// What a sandbox answers to Sandbox::dial and ask_ports. It is untrusted, and may not come.
namespace cove {

// Waits until the connection is made; an errno says why it was not.
Result<void> finish_dial(int socket, std::chrono::milliseconds patience);

// At most wire::kMaxPorts; fields are as long and what they must be, the texts may have any bytes.
Result<std::vector<wire::ListeningSocket>> read_ports(int socket, std::chrono::milliseconds patience);

}  // namespace cove
