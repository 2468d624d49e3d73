#pragma once

#include <string_view>

namespace cove::sys {

// Overwrites the arguments and the environment that this process was started with: from then on others see `name`
// alone, and getenv() finds nothing. For a fork that goes on as something else.
void replace_command_line(std::string_view name);

}  // namespace cove::sys
