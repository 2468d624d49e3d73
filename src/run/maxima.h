#pragma once

#include "model/maxima.h"

namespace cove {

// What this machine has: the most that a sandbox on it can be given.
Maxima machine_maxima();

}  // namespace cove
