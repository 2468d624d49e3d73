#pragma once

#include <string>

#include "client/json.h"

namespace cove::cli {

// One line on standard error for each destination that the network policy refused:
//   cove: denied: example.org:443 (not on the allow list); allow it with: cove net allow box example.org:443
// `sandbox`: how the caller named it; empty for one that is gone, for which the option --allow is suggested.
void tell_denials(const Json& result, const std::string& sandbox);
std::string denial_line(const Json& denial, const std::string& sandbox);

}  // namespace cove::cli
