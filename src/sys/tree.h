#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::sys {

// How to handle folders that this user owns but may not enter.
enum class ClosedFolders { Fail, Open };

// Calls `visit` for everything below `top`, folders after their content; `folder` is the descriptor of the folder that
// contains `name`. Walks by descriptor, never through a link, never into another mount, with a constant number of
// descriptors at any depth. Entries that vanish meanwhile are skipped; if a folder on the path is moved, the walk fails
// with Unavailable. Stops at the first error.
using TreeVisitor = std::function<Result<void>(int folder, const std::string& name, const struct stat& info)>;
Result<void> walk_tree(UniqueFd top, ClosedFolders closed, const TreeVisitor& visit);

}  // namespace cove::sys
