#pragma once

#include "base/unique_fd.h"
#include "init/exec_child.h"

namespace cove::init {

// Serves file operations over `socket` until it closes. Runs in a separate process with the identity and restrictions
// of a user's program, so that every path is resolved as inside. Never returns.
[[noreturn]] void serve_view(UniqueFd socket, const User& user, const Filters& filters, bool single_id);

}  // namespace cove::init
