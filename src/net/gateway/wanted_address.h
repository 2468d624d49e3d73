#pragma once

#include <cstdint>

#include "base/result.h"
#include "net/rule.h"
#include "net/sockets.h"

namespace cove::net {

struct Wanted {
  Address address;
  uint16_t port = 0;
};
// The address that a program inside connected to, of a connection that a listener of NetworkSockets accepted.
Result<Wanted> wanted_address(int connection, Steering steering);

}  // namespace cove::net
