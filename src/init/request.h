#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "init/protocol.h"

namespace cove::init {

// Reads an exec request from the rest of a message, or from a memfd (then the first of `fds`, which is removed).
bool read_request(wire::Reader& in, bool in_memfd, std::vector<UniqueFd>& fds, wire::ExecRequest& request);

}  // namespace cove::init
