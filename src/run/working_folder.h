#pragma once

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// Creates the image's working folder, owned by root, if it does not exist, as other engines do. Waits until the sandbox
// is ready, if there is something to do.
Result<void> make_working_folder(Sandbox& sandbox, const SandboxSpec& spec);

}  // namespace cove
