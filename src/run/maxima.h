#pragma once

#include "model/maxima.h"

namespace cove {

// The resources of this machine: the maximum limits of a sandbox.
Maxima machine_maxima();

}  // namespace cove
