#pragma once

#include <string>

#include "model/sandbox.h"

namespace cove::cli {

// The caller's name and e-mail address as git has them for a repository in this folder: of the caller's own
// configuration, never of the repository's. Empty where git is missing or knows neither.
GitAuthor git_author(const std::string& folder);

}  // namespace cove::cli
