#pragma once

#include <string>

namespace cove::cli {

// Tells what this machine lacks for every sandbox: once for a user until the machine is started anew, not at each run.
void tell_once(const std::string& message);

}  // namespace cove::cli
