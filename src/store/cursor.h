#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cove {

// A place in a list that is ordered by (time, id), as a text: "1763246400123.k3…".
struct Place {
  int64_t time_ms = 0;
  std::string id;
};
std::string to_cursor(const Place& place);
// Empty is the place before everything. Invalid where it is none of ours.
Result<Place> parse_cursor(const std::string& text);

}  // namespace cove
