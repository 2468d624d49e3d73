#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// The control groups that OCI runtimes create: one for process 1 of each sandbox, for the device rules on v1, and
// because the runtimes require one on v2. Cove's own groups enforce the limits.
namespace cove::oci {

// Their names, sorted.
std::vector<std::string> list_groups(const std::string& prefix);
// Does nothing if it does not exist or is not empty.
void remove_group(const std::string& name);

// v1: leaves only the devices hierarchy visible in this mount namespace, so that a runtime creates no groups in others
// and is not confused by a v2 tree beside them.
Result<void> show_one_hierarchy();

}  // namespace cove::oci
