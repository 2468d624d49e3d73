#pragma once

#include <memory>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_mounts.h"

namespace cove::sys {

// The v1 hierarchies in which this process may make groups; Unsupported where there is none.
Result<std::unique_ptr<CgroupTree>> find_cgroup_v1(const std::vector<CgroupMount>& mounts,
                                                   const std::vector<CgroupMembership>& memberships);

// CPU time split as user and system ticks were, for the ticks alone miss what runs between two of them.
void split_cpu_time(uint64_t total_ns, uint64_t user_ticks, uint64_t system_ticks, CgroupUsage& usage);
// Sums "254:0 Read 4096" and "254:0 Write 0" over all devices.
void add_io_service_bytes(std::string_view text, CgroupUsage& usage);

}  // namespace cove::sys
