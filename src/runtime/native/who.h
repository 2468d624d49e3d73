#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::native {

// The pidfd of the process 1 at the other end of a channel. It says itself which process it is: nobody else at that end
// can.
Result<UniqueFd> ask_who(int control);

}  // namespace cove::native
