#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// The output of a command in a temporary sandbox, at most 64 KiB. Unavailable if it takes longer than `patience`; its
// exit status is ignored.
Result<std::string> asked_inside(Runtime& runtime, SandboxSpec spec, const std::vector<std::string>& argv,
                                 std::chrono::milliseconds patience);

}  // namespace cove
