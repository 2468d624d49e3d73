#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::native {

// How long a caller waits for a reply of process 1, which may be hostile.
inline constexpr std::chrono::seconds kAnswerTimeout(5);

// Opens a channel to the process 1 that accepts servers at this socket.
Result<UniqueFd> connect_to_process_one(const std::string& socket_path);

// The pidfd of the process 1 at the other end of a channel. Process 1 sends it itself, because the connection does not
// identify it otherwise.
Result<UniqueFd> ask_identity(int control);

}  // namespace cove::native
