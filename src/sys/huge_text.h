#pragma once

namespace cove::sys {

// Moves the program's code out of the page cache into huge pages of its own, where the kernel has such. What is forked
// from here on finds all of it mapped: otherwise each fork begins with none of its code, asks for it page by page,
// and gives all of that back when it ends. Where it cannot be done, nothing changes.
//
// For a statically linked program of one thread whose code begins at a multiple of 2 MiB (-z max-page-size).
void move_text_to_huge_pages();

}  // namespace cove::sys
