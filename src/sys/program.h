#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::sys {

// A program of this machine that is run for its output.
struct Question {
  std::vector<std::string> argv;  // the first is its path
  std::vector<std::string> env;
  size_t most = 4096;  // bytes of output
  std::chrono::milliseconds patience{5000};
};
// Returns its standard output. Its standard input is empty, and its standard error is discarded. Unavailable if it
// cannot be started, times out, prints too much or does not exit with 0. Any thread; the program has ended afterwards.
Result<std::string> output_of(const Question& question);

}  // namespace cove::sys
