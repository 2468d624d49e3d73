#pragma once

#include <string>
#include <vector>

#include "client/json.h"

namespace cove::cli {

// Shows the progress of a pull on standard error: one line per layer, redrawn on a terminal. Prints nothing otherwise.
class PullDisplay {
 public:
  enum class Show { AtTerminal, Never };
  explicit PullDisplay(Show show);
  void draw(const Json& operation);

 private:
  bool shown_;
  size_t drawn_ = 0;  // lines
};

// The lines to draw.
std::vector<std::string> pull_lines(const Json& operation, size_t width, size_t most);

}  // namespace cove::cli
