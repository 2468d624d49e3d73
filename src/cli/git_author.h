#pragma once

#include <string>

#include "model/sandbox.h"

namespace cove::cli {

// The caller's name and e-mail address, as git has them for a repository in this folder: from the caller's own
// configuration, never from the repository's. Empty if git is missing or neither is configured.
GitAuthor git_author(const std::string& folder);

}  // namespace cove::cli
