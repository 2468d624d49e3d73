#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::sys {

// A program of this machine that is run for what it prints.
struct Question {
  std::vector<std::string> argv;  // the first is its path
  std::vector<std::string> env;
  size_t most = 4096;  // bytes of an answer
  std::chrono::milliseconds patience{5000};
};
// What it prints on its standard output. It has nothing to read, and what it says on standard error is lost.
// Unavailable where it cannot be started, does not end in time, prints too much, or ends with anything but 0.
// Any thread; the program is gone afterwards.
Result<std::string> output_of(const Question& question);

}  // namespace cove::sys
