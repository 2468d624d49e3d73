#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove {

// The forms in which programs write a value, without the value itself: URL-escaped and JSON-escaped in the ways that
// are usual, and with CR LF for LF.
std::vector<std::string> escaped_forms(std::string_view value);

// What base64 of any text that contains the value contains, for each of the three places where it may begin, in both
// alphabets.
std::vector<std::string> base64_forms(std::string_view value);

}  // namespace cove
