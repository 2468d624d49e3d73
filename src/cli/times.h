#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cove::cli {

using Time = std::chrono::system_clock::time_point;

// "2026-11-15T22:40:00.123Z"; empty if the text is not a time.
std::optional<Time> parse_time(std::string_view text);

// For people: "12s", "5m", "3h", "2d".
std::string short_duration(std::chrono::milliseconds duration);
// How long ago ("5m"), and how long until ("in 5m"); "-" if there is no such time.
std::string age(std::string_view time, Time now);
std::string time_left(std::string_view time, Time now);

}  // namespace cove::cli
