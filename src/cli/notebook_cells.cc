#include "cli/notebook_cells.h"

#include "base/text.h"

namespace cove::cli {
namespace {

bool is_mark(std::string_view line) {
  for (std::string_view comment : {"#", "//"}) {
    if (!line.starts_with(comment)) continue;
    std::string_view rest = trim(line.substr(comment.size()));
    if (rest.starts_with("%%")) return true;
  }
  return false;
}

void add_cell(std::vector<std::string>& cells, std::string cell) {
  if (!trim(cell).empty()) cells.push_back(std::move(cell));
}

bool opens(std::string_view line) {
  line = trim(line);
  return !line.empty() && !line.starts_with('#') &&
         std::string_view(":{([\\,").find(line.back()) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> split_cells(std::string_view text) {
  std::vector<std::string> cells;
  std::string cell;
  for (const std::string& line : split(text, '\n')) {
    if (is_mark(line)) add_cell(cells, std::exchange(cell, ""));
    cell += is_mark(line) ? "" : line + "\n";
  }
  add_cell(cells, std::move(cell));
  return cells;
}

bool wants_more(std::string_view cell) {
  const bool ends_with_blank = cell.ends_with("\n\n") || cell == "\n";
  if (ends_with_blank) return false;
  std::vector<std::string> lines = split(trim(cell), '\n');
  return lines.size() > 1 || opens(lines[0]) || lines[0].starts_with('@');
}

}  // namespace cove::cli
