#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace cove::native {

// The folder of a sandbox's own control group, as a detached mount: what programs look at to know their limits.
struct GroupView {
  std::string name;  // below /sys/fs/cgroup; empty: that itself
  UniqueFd tree;
};

// Of the controllers whose limits can be read. Empty where this process may not make mounts.
std::vector<GroupView> open_group_views(const sys::Cgroup& group);

// From whoever makes the group to the builder, which waits for them.
Result<void> send_group_views(int socket, const std::vector<GroupView>& views);
Result<std::vector<GroupView>> receive_group_views(int socket);

}  // namespace cove::native
