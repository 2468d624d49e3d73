#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// What a command prints in a sandbox of its own, which is gone afterwards: at most 64 KiB. Unavailable where it takes
// longer than `patience`; how it ends does not matter.
Result<std::string> asked_inside(Runtime& runtime, SandboxSpec spec, const std::vector<std::string>& argv,
                                 std::chrono::milliseconds patience);

}  // namespace cove
