#pragma once

#include <string>

namespace cove::cli {

// Moves bytes between two connected sockets, both ways, until both have ended or one is gone; an end is passed on as
// one. `early` was read from `far` before.
void relay(int near, int far, std::string early);

}  // namespace cove::cli
