#pragma once

#include <string>

#include "base/result.h"

namespace cove::cli {

// Where the value of a secret comes from; where neither is named, the terminal or standard input.
struct ValueSource {
  std::string file;
  std::string command;
};

// Without one line end behind it. Invalid where it is empty or larger than a secret can be.
Result<std::string> read_secret_value(const ValueSource& source, const std::string& name);

}  // namespace cove::cli
