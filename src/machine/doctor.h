#pragma once

#include "machine/machine_facts.h"
#include "model/diagnosis.h"

namespace cove {

// Evaluates the facts: the isolation level of this machine and, for each finding that is not good, its effect and a
// remedy.
Diagnosis diagnose(const MachineFacts& facts);

}  // namespace cove
