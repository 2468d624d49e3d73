#pragma once

#include "machine/machine_facts.h"
#include "model/diagnosis.h"

namespace cove {

// What the facts mean: how far this machine gets, and for each thing that is not good, what it costs and what would
// mend it.
Diagnosis diagnose(const MachineFacts& facts);

}  // namespace cove
