#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove::cli {

// A table with a heading, whose columns are as wide as their contents.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Makes untrusted text safe for a terminal: control characters and invalid UTF-8 are shown as \xNN.
std::string printable(std::string_view text);
// The width in columns of a terminal.
size_t display_width(std::string_view text);
// At most `width` columns, with … at the end if it was cut.
std::string shorten(std::string_view text, size_t width);

}  // namespace cove::cli
