#pragma once

#include <string_view>

#include "base/error.h"

namespace cove::cli {

// The exit code when Cove itself failed, not the program it ran.
inline constexpr int kOwnFailure = 125;

// Prints to standard output; false if it cannot be written.
bool print(std::string_view text);

// Prints "cove: …" to standard error.
void tell(std::string_view message);

// Prints the error and its hint to standard error; returns kOwnFailure.
int complain(const Error& error);

}  // namespace cove::cli
