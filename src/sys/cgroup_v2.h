#pragma once

#include <memory>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_mounts.h"

namespace cove::sys {

// The v2 tree, where this process may make groups in it; Unsupported otherwise.
Result<std::unique_ptr<CgroupTree>> find_cgroup_v2(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships);

}  // namespace cove::sys
