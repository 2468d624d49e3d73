#pragma once

#include <string>
#include <string_view>
#include <vector>

// Places at which a test can have the process killed, to see that whatever was half done is put right by the next one.
// COVE_CRASH_AT=NAME, or NAME:N for the N-th time it is reached, ends the process there with SIGKILL. Read once, at
// start; a name that is not in the list ends the process at start, so that no test passes by a misspelling.
namespace cove {

namespace crash_detail {
extern const bool armed;
void reach(std::string_view name);
}  // namespace crash_detail

// Any thread; costs one comparison where no point was asked for.
inline void crash_point(std::string_view name) {
  if (crash_detail::armed) [[unlikely]]
    crash_detail::reach(name);
}

// Whether this process has a point to die at: for callers whose names must be put together.
inline bool crash_armed() { return crash_detail::armed; }

// All the names there are, in the order of the list in crash_point.cc.
const std::vector<std::string>& crash_points();

}  // namespace cove
