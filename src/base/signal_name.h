#pragma once

#include <string>

#include "base/result.h"

namespace cove {

// "TERM", "SIGTERM" or "15". Invalid, with the nearest name as a hint.
Result<int> parse_signal(const std::string& text);

}  // namespace cove
