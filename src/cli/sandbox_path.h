#pragma once

#include <string>

#include "base/result.h"

namespace cove::cli {

// A word of `cove cp` or `cove fs`: a path in a sandbox, or one of this machine.
struct PathWord {
  std::string sandbox;  // empty: this machine
  std::string path;     // inside: absolute, or relative to the home ("." is the home itself)
};

// "SANDBOX:PATH" where what stands before the first colon can be a sandbox's name; all else, also what begins with '/'
// or '.', is a path of this machine. "-" is standard input or output.
PathWord parse_path_word(const std::string& text);
// The same, where it must be in a sandbox.
Result<PathWord> parse_sandbox_path(const std::string& text);

// The last component; "." and "/" have none.
std::string base_name(std::string path);
// All before it: "." where there is nothing.
std::string folder_of(std::string path);
std::string below(const std::string& folder, const std::string& name);

}  // namespace cove::cli
