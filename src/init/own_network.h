#pragma once

#include "base/unique_fd.h"

namespace cove::init {

// An empty network namespace for one exec of a sandbox that has a network: a loopback interface, and a socket for sudo,
// whose address is one of its namespace.
struct OwnNetwork {
  UniqueFd space;  // the namespace
  UniqueFd sudo;   // listens there
};
// Leaves this process in the namespace it is in; ends it where it cannot return. False with errno.
bool make_own_network(OwnNetwork& network);

}  // namespace cove::init
