#include "model/network.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace cove {
namespace {

constexpr const char* kTierNames[] = {"sandbox", "restricted", "standard", "elevated",
                                      "unrestricted"};  // in the order of NetworkTier

// A policy travels in one message to the process that builds sandboxes.
Result<void> check_rules(const std::string& list, const std::vector<std::string>& rules) {
  if (rules.size() > kMostNetworkRules)
    return fail(Error(Code::Invalid, concat("'network.", list, "' has more than ", kMostNetworkRules, " rules"))
                    .at(concat("/network/", list)));
  for (const std::string& rule : rules)
    if (rule.empty() || rule.size() > kLongestNetworkRule)
      return fail(Error(Code::Invalid, concat("'network.", list, "' has a rule of ", rule.size(), " bytes"))
                      .hint(concat("a rule has 1 to ", kLongestNetworkRule, " bytes"))
                      .at(concat("/network/", list)));
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

NetworkPolicy changed(NetworkPolicy policy, const NetworkChange& change) {
  const bool had_tier = policy.tier >= NetworkTier::Standard;
  const bool wants = change.enabled.value_or(change.allow && !change.allow->empty());
  if (change.tier)
    policy.tier = *change.tier;
  else if (!had_tier && wants)
    policy.tier = NetworkTier::Standard;
  if (change.enabled)
    policy.enabled = *change.enabled;
  else if (!had_tier && policy.tier >= NetworkTier::Standard)
    policy.enabled = true;
  if (change.allow) policy.allow = *change.allow;
  if (change.block) policy.block = *change.block;
  if (change.bytes) policy.budget.bytes = *change.bytes;
  if (change.connections) policy.budget.connections = *change.connections;
  if (change.learn) policy.learn = *change.learn;
  return policy;
}

Result<void> check_network(const NetworkPolicy& policy) {
  COVE_TRY(check_rules("allow", policy.allow));
  return check_rules("block", policy.block);
}

}  // namespace cove
