#pragma once

#include <sys/types.h>

#include <string_view>

#include "init/copy_format.h"

// The memory of a program that is held, for a copy of it: three steps, each of which fills in more of the header.
namespace cove::init {

// What is mapped where, and the files.
copy::Refusal take_areas(pid_t pid, copy::Header& header);
// Which of the pages are the program's own.
copy::Refusal find_pages(pid_t pid, copy::Header& header);
// Writes these to `out`, and how copies come to seeds of their own for their hashes. Refused where `mark` is in none of
// the pages. What the program says of its hashes stands behind a mark that ends with HashFacts::kStart.
copy::Refusal write_pages(pid_t pid, std::string_view mark, copy::Header& header, int out);

}  // namespace cove::init
