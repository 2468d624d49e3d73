#pragma once

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// The git configuration for the author of the workspace; "" if there is none.
std::string git_config_of(const GitAuthor& author);

// Adds it to /etc/gitconfig of a new sandbox, where users' and repositories' own configuration overrides it. Waits
// until the sandbox is ready, if there is something to add.
Result<void> write_git_author(Sandbox& sandbox, const SandboxSpec& spec);

}  // namespace cove
