#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::native {

// How long process 1, which may be hostile, can keep whoever asks it something.
inline constexpr std::chrono::seconds kAnswerPatience(5);

// A channel to the process 1 that takes servers at this socket.
Result<UniqueFd> connect_to_process_one(const std::string& socket_path);

// The pidfd of the process 1 at the other end of a channel. It says itself which process it is: nobody else at that end
// can.
Result<UniqueFd> ask_who(int control);

}  // namespace cove::native
