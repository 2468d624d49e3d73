#pragma once

#include <string>

#include "base/result.h"

namespace cove::cli {

// An operand of `cove cp` or `cove fs`: a path in a sandbox or on this machine.
struct PathWord {
  std::string sandbox;  // empty: this machine
  std::string path;     // inside: absolute, or relative to the home ("." is the home itself)
};

// "SANDBOX:PATH" if the part before the first colon can be a sandbox's name; anything else, including what begins with
// '/' or '.', is a path on this machine. "-" is standard input or output.
PathWord parse_path_word(const std::string& text);
// The same, but the path must be in a sandbox.
Result<PathWord> parse_sandbox_path(const std::string& text);

// The last component; empty for "." and "/".
std::string base_name(std::string path);
// Everything before the last component; "." if there is nothing.
std::string folder_of(std::string path);
std::string below(const std::string& folder, const std::string& name);

}  // namespace cove::cli
