#pragma once

#include "base/unique_fd.h"

namespace cove::init {

// Tells, over `socket`, which TCP ports the processes inside listen at. Runs in a separate process; never returns.
[[noreturn]] void tell_ports(UniqueFd socket);

}  // namespace cove::init
