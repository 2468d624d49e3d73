#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace cove::native {

struct LinkedWorktree {
  UniqueFd repository;  // the repository's own folder, as O_PATH
  std::string name;     // of the worktree in it
};

// Finds the repository of which `folder` is a linked worktree (`git worktree add`): its `.git` is a file that names a
// folder of the repository, outside. The repository must name this folder, too, and have the same owner, so that a
// forged `.git` file has no effect. Opens with the rights of this process; empty if there is no such repository.
std::optional<LinkedWorktree> find_linked_worktree(int folder);

}  // namespace cove::native
