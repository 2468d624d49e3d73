#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Paths of HTTP requests, and the patterns of rules.
namespace cove::net {

// What servers may make of a path: percent-encoding decoded once or to its end, empty and dot segments resolved or not,
// parameters (";a=b") kept or not, `\` for `/`. A rule that allows must hold for all of them, one that blocks for any.
// Nothing where no one can say what the path is: not UTF-8, control characters, a fragment, too long.
std::optional<std::vector<std::string>> path_spellings(std::string_view path);

// `*` in the pattern stands for any characters, also `/` and none.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace cove::net
