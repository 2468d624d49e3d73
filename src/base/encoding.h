#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Forms in which bytes and times travel in JSON.
namespace cove {

// Whole and well-formed: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_utf8(std::string_view bytes);

std::string to_hex(std::string_view bytes);

// RFC 4648 section 4, with padding.
std::string to_base64(std::string_view bytes);
// Nothing where it is anything else: other characters, bits left over, padding that is missing or too much.
std::optional<std::string> from_base64(std::string_view text);

// RFC 3339 in UTC with milliseconds: "2026-11-15T22:40:00.123Z".
std::string format_time(int64_t milliseconds_since_1970);
// The other way, for any offset from UTC (RFC 3339); nothing where it is none.
std::optional<int64_t> parse_time(std::string_view text);

// "a b/ü" → "a%20b%2F%C3%BC": for one value in a query or one segment of a path.
std::string percent_encode(std::string_view text);

}  // namespace cove
