#pragma once

#include <string>
#include <string_view>
#include <vector>

// Divides the input of `cove notebook` into cells.
namespace cove::cli {

// A file is split at lines that begin with "# %%" or "// %%", as editors write them. Blank cells are dropped.
std::vector<std::string> split_cells(std::string_view text);

// At a terminal: whether more lines belong to the cell. A cell that opens a block or a bracket, or ends with a
// backslash, continues until an empty line.
bool wants_more(std::string_view cell);

}  // namespace cove::cli
