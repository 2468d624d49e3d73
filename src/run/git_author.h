#pragma once

#include "base/result.h"
#include "runtime/runtime.h"

namespace cove {

// What git inside reads for the author of the workspace; "" where none is named.
std::string git_config_of(const GitAuthor& author);

// Adds it to /etc/gitconfig of a new sandbox: the user's own files there, and those of repositories, count for more.
// Waits until the sandbox is ready, if there is something to do.
Result<void> write_git_author(Sandbox& sandbox, const SandboxSpec& spec);

}  // namespace cove
