#pragma once

#include <string>

#include "client/json.h"

// An exec in one line.
namespace cove::cli {

std::string exec_command(const Json& exec);
// "running", "success (0)", "error (3)", "killed (signal 9)".
std::string exec_state(const Json& exec);

}  // namespace cove::cli
