#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"

namespace cove::cli {

// The paths in a sandbox that match a pattern, as glob(3) with braces does it; relative patterns begin at `folder`, and
// so do their matches. Sorted.
Result<std::vector<std::string>> remote_glob(Api& api, const client::Place& folder, const std::string& pattern);

}  // namespace cove::cli
