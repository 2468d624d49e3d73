#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::sys {

// What to do about folders that this user owns but may not enter.
enum class ClosedFolders { Fail, Open };

// Calls `visit` for everything below `top`, folders after their content; `folder` is the descriptor of the one that
// holds `name`. Goes by descriptor, never through a link, never into another mount, and needs the same few descriptors
// however deep the tree is. What vanishes meanwhile is passed over; where a folder on the way is moved, the walk fails
// as Unavailable. Stops at the first error.
using TreeVisitor = std::function<Result<void>(int folder, const std::string& name, const struct stat& info)>;
Result<void> walk_tree(UniqueFd top, ClosedFolders closed, const TreeVisitor& visit);

}  // namespace cove::sys
