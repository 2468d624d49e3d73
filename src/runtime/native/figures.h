#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cove::native {

// Reads files that a sandbox's programs have written: those that are PNG and not too large, up to a total size. Others
// are skipped.
std::vector<std::string> read_figures(const std::vector<UniqueFd>& files);

}  // namespace cove::native
