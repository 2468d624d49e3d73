#include "engine/network/learned_rules.h"

#include <algorithm>

#include "base/text.h"
#include "net/groups.h"
#include "net/policy.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

bool covers(const std::string& rule, const std::string& host, uint16_t port) {
  NetworkPolicy policy{.tier = NetworkTier::Standard, .enabled = true, .allow = {rule}};
  Result<net::CompiledPolicy> compiled = net::CompiledPolicy::compile({{"", net::PolicyLayer::Role::Own, policy}});
  net::Target target;
  target.name = host;
  target.port = port;
  return compiled && compiled->decide(target).decision == net::Decision::Allow;
}

// The first group that has it, but for those that the image decides about.
std::string group_of(const std::string& host, uint16_t port) {
  for (const net::Group& group : net::groups()) {
    if (group.from_image) continue;
    for (const net::GroupHost& each : group.hosts)
      if (covers(each.rule, host, port)) return concat("@", group.name);
  }
  return "";
}

std::string rule_of(const std::string& host, uint16_t port) {
  Result<net::Address> address = net::parse_address(host);
  const std::string text = !address           ? host
                           : address->is_v4() ? net::to_text(*address) + "/32"
                                              : concat("[", net::to_text(*address), "]/128");
  return port == 0 ? text : concat(text, ":", port);
}

}  // namespace

std::vector<std::string> proposed_rules(const std::set<std::pair<std::string, uint16_t>>& reached) {
  std::vector<std::string> rules;
  for (const auto& [host, port] : reached) {
    std::string rule = group_of(host, port);
    if (rule.empty()) rule = rule_of(host, port);
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace cove::engine
