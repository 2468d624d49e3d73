#pragma once

#include <string_view>

#include "base/error.h"

namespace cove::cli {

// The exit code when Cove itself, not the program it ran, has failed.
inline constexpr int kOwnFailure = 125;

// To standard output; false where it cannot be written.
bool print(std::string_view text);

// "cove: …" on standard error.
void tell(std::string_view message);

// The error and its hint on standard error; returns kOwnFailure.
int complain(const Error& error);

}  // namespace cove::cli
