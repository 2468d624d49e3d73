#pragma once

#include "model/sandbox.h"

namespace cove {

// The variables that every program in a sandbox has, before what the caller gives. Nothing of the caller's own
// environment is among them.
Environment safe_environment();
// The same for a sandbox of this image: those of the image, where it is not this machine's own userland, which wants
// some more.
Environment base_environment(const SandboxSpec& sandbox);

}  // namespace cove
