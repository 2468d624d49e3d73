#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove::cli {

// Rows under a heading, in columns that are as wide as they need to be.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Text that somebody else has chosen, made harmless for a terminal: control characters and what is no UTF-8 are shown
// as \xNN.
std::string printable(std::string_view text);
// In columns of a terminal.
size_t display_width(std::string_view text);
// At most `width` columns, with … at the end where something was cut.
std::string shorten(std::string_view text, size_t width);

}  // namespace cove::cli
