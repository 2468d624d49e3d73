#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove {

// How much of a network there is: none in the first two, the allowed names in the third, all in the others.
enum class NetworkTier { Sandbox, Restricted, Standard, Elevated, Unrestricted };
const char* tier_name(NetworkTier tier);  // "sandbox"
std::optional<NetworkTier> parse_tier(std::string_view name);
std::vector<std::string> tier_names();

struct NetworkBudget {
  uint64_t bytes = 0;        // sent and received; 0: no limit
  uint64_t connections = 0;  // 0: no limit
  bool operator==(const NetworkBudget&) const = default;
};

// What of the network a sandbox may reach. Its fields are listed once, in sandbox_fields.h.
struct NetworkPolicy {
  NetworkTier tier = NetworkTier::Sandbox;
  bool enabled = false;
  std::vector<std::string> allow;  // rules: "pypi.org", "*.example.org", "host:8443", "10.1.0.0/16"
  std::vector<std::string> block;
  NetworkBudget budget;
  bool learn = false;  // what no list names is let through, and proposed as rules
  bool operator==(const NetworkPolicy&) const = default;
};
inline bool has_network(const NetworkPolicy& policy) { return policy.enabled && policy.tier >= NetworkTier::Standard; }

// What is asked for of a policy; the rest stays.
struct NetworkChange {
  std::optional<NetworkTier> tier;
  std::optional<bool> enabled;
  std::optional<std::vector<std::string>> allow;
  std::optional<std::vector<std::string>> block;
  std::optional<uint64_t> bytes;
  std::optional<uint64_t> connections;
  std::optional<bool> learn;
};
// Who names no tier, but a list of what is allowed, or that it is enabled, where there is no network yet, means the
// tier `standard`; who names a tier with a network where there was none enables it.
NetworkPolicy changed(NetworkPolicy policy, const NetworkChange& change);

inline constexpr size_t kMostNetworkRules = 256;  // of each list
inline constexpr size_t kLongestNetworkRule = 255;

// Invalid where it has too many rules, or rules that are too long; net/rule.h says what a rule is.
Result<void> check_network(const NetworkPolicy& policy);

}  // namespace cove
