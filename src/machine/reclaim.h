#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cove {

// Gives an ordinary user the files below `folder`, and the folder itself, that belong to his subordinate ids: root and
// other users of his sandboxes have made them there, and he could not remove them. Links are not followed. How many.
Result<uint64_t> reclaim_files(const std::string& folder);

}  // namespace cove
