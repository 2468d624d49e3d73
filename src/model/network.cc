#include "model/network.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace cove {
namespace {

constexpr const char* kTierNames[] = {"sandbox", "restricted", "standard", "elevated",
                                      "unrestricted"};  // in the order of NetworkTier

std::unexpected<Error> no_network(const std::string& what) {
  return fail(Error(Code::Unsupported, concat(what, " is not supported: sandboxes have no network"))
                  .hint("use the tier 'sandbox' or 'restricted', and copy in what is needed"));
}

// A policy travels in one message to the process that builds sandboxes.
Result<void> check_rules(const std::string& list, const std::vector<std::string>& rules) {
  if (rules.size() > kMostNetworkRules)
    return fail(Code::Invalid, concat("'network.", list, "' has more than ", kMostNetworkRules, " rules"));
  for (const std::string& rule : rules)
    if (rule.empty() || rule.size() > kLongestNetworkRule)
      return fail(Error(Code::Invalid, concat("'network.", list, "' has a rule of ", rule.size(), " bytes"))
                      .hint(concat("a rule has 1 to ", kLongestNetworkRule, " bytes")));
  return {};
}

}  // namespace

const char* tier_name(NetworkTier tier) { return kTierNames[static_cast<size_t>(tier)]; }

std::optional<NetworkTier> parse_tier(std::string_view name) {
  auto found = std::ranges::find(kTierNames, name);
  if (found == std::end(kTierNames)) return std::nullopt;
  return static_cast<NetworkTier>(found - std::begin(kTierNames));
}

std::vector<std::string> tier_names() { return {std::begin(kTierNames), std::end(kTierNames)}; }

Result<void> check_network(const NetworkPolicy& policy) {
  COVE_TRY(check_rules("allow", policy.allow));
  COVE_TRY(check_rules("block", policy.block));
  if (policy.tier > NetworkTier::Restricted)
    return no_network(concat("the network tier '", std::string_view(tier_name(policy.tier)), "'"));
  if (policy.enabled) return no_network("an enabled network");
  if (!policy.allow.empty()) return no_network(concat("allowing '", policy.allow.front(), "'"));
  return {};
}

}  // namespace cove
