#pragma once

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// The working folder that an image names is made, as root's, where the image itself has none: as other engines do.
// Waits until the sandbox stands, if there is something to do.
Result<void> make_working_folder(Sandbox& sandbox, const SandboxSpec& spec);

}  // namespace cove
