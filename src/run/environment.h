#pragma once

#include "model/sandbox.h"

namespace cove {

// The variables of every program in a sandbox, to which the caller's options are added. They include nothing from the
// caller's own environment.
Environment safe_environment();
// The same for a sandbox of this image: the image's own variables or, for this machine's own userland, some more.
Environment base_environment(const SandboxSpec& sandbox);

}  // namespace cove
