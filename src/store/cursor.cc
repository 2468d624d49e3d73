#include "store/cursor.h"

#include "base/text.h"

namespace cove {

std::string to_cursor(const Place& place) { return concat(place.time_ms, ".", place.id); }

Result<Place> parse_cursor(const std::string& text) {
  if (text.empty()) return Place{INT64_MIN, ""};
  size_t dot = text.find('.');
  Result<int64_t> time = parse_integer(text.substr(0, dot), INT64_MIN, INT64_MAX);
  if (dot == std::string::npos || !time)
    return fail(Error(Code::Invalid, concat("'", text, "' is not a place in the list"))
                    .hint("pass on 'next' of the answer before, as it is"));
  return Place{*time, text.substr(dot + 1)};
}

}  // namespace cove
