#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace cove::native {

// The folder of a sandbox's own control group, as a detached mount, in which programs can read their limits.
struct GroupView {
  std::string name;  // below /sys/fs/cgroup; empty: /sys/fs/cgroup itself
  UniqueFd tree;
};

// For the controllers whose limits can be read. Empty if this process cannot create mounts.
std::vector<GroupView> open_group_views(const sys::Cgroup& group);

// Sends them from the process that creates the group to the builder, which waits for them.
Result<void> send_group_views(int socket, const std::vector<GroupView>& views);
Result<std::vector<GroupView>> receive_group_views(int socket);

}  // namespace cove::native
