#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"

namespace cove::cli {

// The paths in a sandbox that match a pattern, as glob(3) with braces; relative patterns and their matches start at
// `folder`. Sorted.
Result<std::vector<std::string>> remote_glob(Api& api, const client::Place& folder, const std::string& pattern);

}  // namespace cove::cli
