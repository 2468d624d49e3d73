#pragma once

#include <string>
#include <vector>

#include "client/json.h"

namespace cove::cli {

// How far a pull is, on standard error: a line for each layer, drawn over and over at a terminal; nothing elsewhere.
class PullDisplay {
 public:
  enum class Show { AtTerminal, Never };
  explicit PullDisplay(Show show);
  void draw(const Json& operation);

 private:
  bool shown_;
  size_t drawn_ = 0;  // lines
};

// The lines themselves.
std::vector<std::string> pull_lines(const Json& operation, size_t width, size_t most);

}  // namespace cove::cli
