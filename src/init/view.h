#pragma once

#include "base/unique_fd.h"
#include "init/exec_child.h"

namespace cove::init {

// Serves file operations over `socket` until it closes: in a process of its own, with the identity and behind the
// fences of a user's program, so that every path means what it means inside. Never returns.
[[noreturn]] void serve_view(UniqueFd socket, const User& user, const Filters& filters, bool single_id);

}  // namespace cove::init
