#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// The control groups that OCI runtimes make: one for process 1 of each sandbox, for the rules about devices on v1, and
// because the runtimes want one on v2. The limits are held by Cove's own groups.
namespace cove::oci {

// Their names, sorted.
std::vector<std::string> list_groups(const std::string& prefix);
// Nothing happens where there is none, or while something lives in it.
void remove_group(const std::string& name);

// v1: leaves only the hierarchy of the devices to be seen in this mount namespace, so that a runtime makes no groups in
// others, and is not confused by a v2 tree beside them.
Result<void> show_one_hierarchy();

}  // namespace cove::oci
