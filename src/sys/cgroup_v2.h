#pragma once

#include <memory>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_mounts.h"

namespace cove::sys {

// Where in the tree: in the process's own group or, as root, at the top.
enum class V2Base { TopForRoot, OwnGroup };

// The v2 tree, if this process may create groups in it; Unsupported otherwise.
Result<std::unique_ptr<CgroupTree>> find_cgroup_v2(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships, V2Base where);

}  // namespace cove::sys
