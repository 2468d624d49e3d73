#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cove::native {

// Of plain files that a sandbox's programs have written: those that are PNG and not too large, as far as there is room.
// The others are left out.
std::vector<std::string> read_figures(const std::vector<UniqueFd>& files);

}  // namespace cove::native
