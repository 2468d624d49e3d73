#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cove::engine {

// Rules that allow these hosts and ports: a named group stands for all of its hosts.
std::vector<std::string> proposed_rules(const std::set<std::pair<std::string, uint16_t>>& reached);

}  // namespace cove::engine
