#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove {

// Holds FOLDER/lock for as long as the descriptor is open: one server per folder. Exists, with the holder's process id,
// where another has it.
Result<UniqueFd> lock_folder(const std::string& folder);

}  // namespace cove
