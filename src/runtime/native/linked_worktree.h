#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace cove::native {

struct LinkedWorktree {
  UniqueFd repository;  // the repository's own folder, as O_PATH
  std::string name;     // of the worktree in it
};

// What `folder` is a linked worktree of (`git worktree add`): its `.git` is a file that names a folder of the
// repository, outside. The repository must name this folder, too, and have the same owner: a file that somebody put
// there leads nowhere. Opens with the rights of this process; nothing where there is no such repository.
std::optional<LinkedWorktree> find_linked_worktree(int folder);

}  // namespace cove::native
