#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cove {

// Makes an ordinary user the owner of `folder` and the files below it that belong to the user's subordinate ids: root
// and other users of the user's sandboxes created them, and the user could not remove them. Links are not followed.
// Returns the number of files.
Result<uint64_t> reclaim_files(const std::string& folder);

}  // namespace cove
