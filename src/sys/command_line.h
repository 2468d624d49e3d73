#pragma once

#include <string_view>

namespace cove::sys {

// Overwrites the arguments and the environment that this process was started with: other processes then see only
// `name`, and getenv() finds nothing. For a forked child that takes on another role.
void replace_command_line(std::string_view name);

}  // namespace cove::sys
