#include "cli/times.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/text.h"

namespace cove::cli {

std::optional<Time> parse_time(std::string_view text) {
  std::string copy(text);
  tm parts = {};
  int milliseconds = 0;
  int count = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                          &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &milliseconds);
  if (count < 6) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  time_t seconds = ::timegm(&parts);
  return std::chrono::system_clock::from_time_t(seconds) + std::chrono::milliseconds(milliseconds);
}

std::string short_duration(std::chrono::milliseconds duration) {
  int64_t seconds = std::max<int64_t>(0, duration.count() / 1000);
  if (seconds < 120) return concat(seconds, "s");
  if (seconds < 120 * 60) return concat(seconds / 60, "m");
  if (seconds < 48 * 3600) return concat(seconds / 3600, "h");
  return concat(seconds / 86400, "d");
}

std::string age(std::string_view time, Time now) {
  std::optional<Time> then = parse_time(time);
  if (!then) return "-";
  return short_duration(std::chrono::duration_cast<std::chrono::milliseconds>(now - *then));
}

std::string time_left(std::string_view time, Time now) {
  std::optional<Time> then = parse_time(time);
  if (!then) return "-";
  return concat("in ", short_duration(std::chrono::duration_cast<std::chrono::milliseconds>(*then - now)));
}

}  // namespace cove::cli
