#pragma once

#include <string>

namespace cove::cli {

// Prints a warning about this machine only once per user and boot, instead of at every run.
void warn_once(const std::string& message);

}  // namespace cove::cli
