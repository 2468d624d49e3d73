#pragma once

#include "model/sandbox.h"

namespace cove {

// The variables that every program in a sandbox has, before what the caller gives. Nothing of the caller's own
// environment is among them.
Environment safe_environment();

}  // namespace cove
