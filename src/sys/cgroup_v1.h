#pragma once

#include <memory>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_mounts.h"

namespace cove::sys {

// The v1 hierarchies in which this process may create groups; Unsupported if there is none.
Result<std::unique_ptr<CgroupTree>> find_cgroup_v1(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships);

}  // namespace cove::sys
