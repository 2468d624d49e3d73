#include "engine/network/policy_layers.h"

#include <algorithm>

#include "base/text.h"
#include "net/groups.h"
#include "net/own_addresses.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

const NetworkPolicy& unbounded() {
  static const NetworkPolicy policy{.tier = NetworkTier::Unrestricted, .enabled = true};
  return policy;
}

NetworkTier tier_of(const NetworkPolicy& policy) { return policy.enabled ? policy.tier : NetworkTier::Sandbox; }

// The first of `rules` that is not in `others`.
std::string first_beyond(const std::vector<std::string>& rules, const std::vector<std::string>& others) {
  auto found = std::ranges::find_if(
      rules, [&](const std::string& rule) { return std::ranges::find(others, rule) == others.end(); });
  return found == rules.end() ? std::string() : *found;
}

std::string allow_widening(const NetworkPolicy& before, const NetworkPolicy& after, Role role) {
  if (role == Role::Bound && before.allow.empty()) return "";
  if (role == Role::Bound && after.allow.empty()) return "removing the bound of what is allowed";
  const std::string rule = first_beyond(after.allow, before.allow);
  return rule.empty() ? "" : concat("allowing '", rule, "'");
}

bool budget_rises(uint64_t before, uint64_t after) { return before != 0 && (after == 0 || after > before); }

// Those without a network are one step.
int step_of(NetworkTier tier) {
  return std::max(0, static_cast<int>(tier) - static_cast<int>(NetworkTier::Restricted));
}

std::unexpected<Error> denied(std::string what, std::string hint, const char* pointer) {
  return fail(Error(Code::Denied, std::move(what)).hint(std::move(hint)).at(pointer));
}

Result<void> check_tier(NetworkTier tier, const Config& config) {
  if (tier <= config.network.max_tier) return {};
  return denied(concat("the network tier '", std::string_view(tier_name(tier)), "' is higher than this server allows"),
                concat("the setting network.max_tier is '", std::string_view(tier_name(config.network.max_tier)), "'"),
                "/network/tier");
}

Result<void> check_learning(const Caller& caller, const Config& config) {
  if (config.network.learn || caller.scopes.allow(Scope::Approve)) return {};
  return denied("a network that learns lets through what no list names: this needs the scope 'approve'",
                "use a key with that scope, or the setting network.learn", "/network/learn");
}

// What is not known to be another machine's counts as this one's.
bool is_own(const net::Address& address) {
  Result<net::OwnAddresses> own = net::OwnAddresses::open();
  return !own || own->contains(address);
}

// As CompiledPolicy::check_resolved(): an address of this machine is opened by a rule for just that address.
bool opens_more_than_others(const net::Rule& rule) {
  constexpr int kWholeAddress = 128;
  if (rule.kind != net::Rule::Kind::Network) return false;
  return !net::is_public(rule.network, rule.bits) || (rule.bits == kWholeAddress && is_own(rule.network));
}

// They lead to this machine and to what is beside it, which a name never does.
Result<void> check_addresses(const Caller& caller, const NetworkPolicy& policy) {
  if (caller.scopes.allow(Scope::Approve)) return {};
  for (size_t i = 0; i < policy.allow.size(); ++i)
    if (opens_more_than_others(COVE_TRY(net::parse_rule(policy.allow[i]))))
      return fail(
          Error(Code::Denied, concat("allowing '", policy.allow[i], "' needs the scope 'approve'"))
              .hint("without it, names and networks are allowed that are entirely public, and not this machine's")
              .at(concat("/network/allow/", i)));
  return {};
}

Result<void> resolve_list(std::vector<std::string>& rules, const ImageHosts& hosts) {
  std::vector<std::string> resolved;
  for (const std::string& text : rules) {
    resolved.push_back(text);
    net::Rule rule = COVE_TRY(net::parse_rule(text));
    const net::Group* group = rule.kind == net::Rule::Kind::Group ? net::find_group(rule.host) : nullptr;
    if (!group || !group->from_image) continue;
    for (const std::string& host : COVE_TRY(hosts(rule.host))) {
      net::Rule of_host = COVE_TRY(net::parse_rule(host));
      if (!rule.ports.empty()) of_host.ports = rule.ports;
      of_host.methods = rule.methods;
      of_host.path = rule.path;
      resolved.push_back(net::to_text(of_host));
    }
  }
  rules = std::move(resolved);
  return {};
}

}  // namespace

NetworkPolicy server_policy(const Config& config) {
  NetworkPolicy policy = unbounded();
  policy.tier = config.network.max_tier;
  policy.allow = config.network.allow;
  policy.block = config.network.block;
  policy.budget = config.network.budget;
  return policy;
}

std::vector<net::PolicyLayer> layers_of(const PolicySources& sources) {
  std::vector<net::PolicyLayer> layers;
  auto bound = [&](const char* name, const NetworkPolicy& policy) {
    if (policy != unbounded()) layers.push_back({name, Role::Bound, policy});
  };
  bound("server", sources.server);
  bound("project", sources.project);
  bound("agent", sources.agent);
  layers.push_back({sources.own_name, Role::Own, sources.own});
  std::vector<std::string>& allow = layers.back().policy.allow;
  if (has_network(sources.own))
    for (const std::string& rule : sources.approved)
      if (std::ranges::find(allow, rule) == allow.end()) allow.push_back(rule);
  return layers;
}

Result<void> resolve_image_groups(std::vector<net::PolicyLayer>& layers, const ImageHosts& hosts) {
  for (net::PolicyLayer& layer : layers) {
    COVE_TRY(resolve_list(layer.policy.allow, hosts));
    COVE_TRY(resolve_list(layer.policy.block, hosts));
  }
  return {};
}

std::string widening(const NetworkPolicy& before, const NetworkPolicy& after, Role role) {
  if (tier_of(after) > tier_of(before) && has_network(after))
    return concat("the network tier '", std::string_view(tier_name(after.tier)), "'");
  if (std::string allowed = allow_widening(before, after, role); !allowed.empty()) return allowed;
  if (std::string rule = first_beyond(before.block, after.block); !rule.empty())
    return concat("no longer blocking '", rule, "'");
  if (budget_rises(before.budget.bytes, after.budget.bytes)) return "a larger budget of bytes";
  if (budget_rises(before.budget.connections, after.budget.connections)) return "a larger budget of connections";
  return after.learn && !before.learn ? "letting it learn" : "";
}

Result<void> check_made(const Caller& caller, const NetworkPolicy& policy, const Config& config) {
  if (policy.learn) COVE_TRY(check_learning(caller, config));
  COVE_TRY(check_addresses(caller, policy));
  if (!has_network(policy)) return {};
  COVE_TRY(check_tier(policy.tier, config));
  if (policy.tier <= config.network.tier || caller.scopes.allow(Scope::Approve)) return {};
  return denied(
      concat("the network tier '", std::string_view(tier_name(policy.tier)), "' needs the scope 'approve'"),
      concat("without it, the highest tier is '", std::string_view(tier_name(config.network.tier)), "' (network.tier)"),
      "/network/tier");
}

Result<void> check_changed(const Caller& caller, const NetworkPolicy& before, const NetworkPolicy& after,
                           const Config& config) {
  const std::string wider = widening(before, after, Role::Own);
  const bool may_approve = caller.scopes.allow(Scope::Approve);
  if (wider.empty() && !may_approve && !caller.scopes.allow(Scope::Manage))
    return denied("changing the network of a sandbox needs the scope 'manage' or 'approve'",
                  "use a key with one of them", "/network");
  if (wider.empty()) return {};
  if (!may_approve)
    return denied(concat(wider, " needs the scope 'approve'"),
                  "use a key with that scope; narrowing needs the scope 'manage'", "/network");
  COVE_TRY(check_tier(tier_of(after), config));
  if (step_of(tier_of(after)) - step_of(tier_of(before)) <= 1) return {};
  return fail(
      Error(Code::Conflict, concat("the network tier cannot rise from '", std::string_view(tier_name(tier_of(before))),
                                   "' to '", std::string_view(tier_name(after.tier)), "' at once"))
          .hint("it rises one step at a time: standard, elevated, unrestricted")
          .at("/network/tier"));
}

}  // namespace cove::engine
