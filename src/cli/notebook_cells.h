#pragma once

#include <string>
#include <string_view>
#include <vector>

// How the input of `cove notebook` is divided into cells.
namespace cove::cli {

// Of a file: at lines that begin with "# %%" or "// %%", as editors write them. Cells of blanks alone are left out.
std::vector<std::string> split_cells(std::string_view text);

// At a terminal: whether more lines belong to the cell. One that opens a block or a bracket, or ends with a backslash,
// goes on until an empty line.
bool wants_more(std::string_view cell);

}  // namespace cove::cli
