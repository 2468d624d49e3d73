#include "net/policy.h"

#include <algorithm>

#include "base/text.h"
#include "net/groups.h"
#include "net/policy_match.h"

namespace cove::net {
namespace {

constexpr const char* kProtocolNames[] = {"tcp", "udp", "dns", "tls", "http"};  // in the order of Protocol
constexpr int kAddressBits = 128;

// --- compiling ------------------------------------------------------------------------------------------------------

Result<void> add_rule(std::vector<CompiledRule>& out, const std::string& text) {
  const Rule rule = COVE_TRY(parse_rule(text));
  if (rule.kind != Rule::Kind::Group) {
    out.push_back({rule, text});
    return {};
  }
  for (const GroupHost& host : find_group(rule.host)->hosts) {
    Rule one = COVE_TRY(parse_rule(host.rule));
    one.ports = rule.ports;
    one.methods = rule.methods;
    one.path = rule.path;
    out.push_back({std::move(one), text});
  }
  return {};
}

Result<std::vector<CompiledRule>> compile_rules(const std::vector<std::string>& texts) {
  std::vector<CompiledRule> out;
  for (const std::string& text : texts) COVE_TRY(add_rule(out, text));
  return out;
}

uint64_t smaller(uint64_t a, uint64_t b) { return a && b ? std::min(a, b) : std::max(a, b); }

Result<void> check_rules(const std::vector<std::string>& rules, const std::string& field, const char* list) {
  for (size_t i = 0; i < rules.size(); ++i)
    if (Result<Rule> rule = parse_rule(rules[i]); !rule)
      return fail(std::move(rule)
                      .error()
                      .note(concat("'", field, ".", list, "[", i, "]'"))
                      .at(concat("/", field, "/", list, "/", i)));
  return {};
}

// --- answers --------------------------------------------------------------------------------------------------------

std::string in_words(const Target& target) {
  const bool six = target.name.empty() && target.address && !target.address->is_v4();
  std::string host = target.name.empty() && target.address ? to_text(*target.address) : target.name;
  if (six) host = concat("[", host, "]");
  std::string out = target.port ? concat(host, ":", target.port) : host;
  return target.method.empty() ? out : concat(target.method, " ", out, target.path);
}

Verdict deny(const char* code, std::string why, const std::string& layer = "", std::string rule = "") {
  return {Decision::Deny, std::move(rule), layer, std::move(why), code};
}

Verdict deny_unlisted(const Target& target, const CompiledLayer& layer) {
  const std::string what = in_words(target);
  if (const SpecialNetwork* special =
          target.name.empty() && target.address ? special_network(*target.address) : nullptr)
    return deny("private_address", concat(what, " is ", special->what, ", which must be allowed by address"),
                layer.name);
  if (target.name.empty())
    return deny("needs_name", concat(what, " was not looked up by name, and no allowed network contains it"),
                layer.name);
  return deny("not_allowed", concat(what, " is not on the allow list of the ", layer.name), layer.name);
}

}  // namespace

const char* protocol_name(Protocol protocol) { return kProtocolNames[static_cast<size_t>(protocol)]; }

Result<CompiledPolicy> CompiledPolicy::compile(const std::vector<PolicyLayer>& layers) {
  CompiledPolicy policy;
  for (const PolicyLayer& layer : layers) {
    CompiledLayer compiled{layer.name, layer.role, !layer.policy.allow.empty(), {}, {}};
    compiled.allow = COVE_TRY_NOTE(concat("the network policy of the ", layer.name), compile_rules(layer.policy.allow));
    compiled.block = COVE_TRY_NOTE(concat("the network policy of the ", layer.name), compile_rules(layer.policy.block));
    policy.add(layer, std::move(compiled));
  }
  return policy;
}

void CompiledPolicy::add(const PolicyLayer& layer, CompiledLayer compiled) {
  tier_ = std::min(tier_, layer.policy.enabled ? layer.policy.tier : NetworkTier::Sandbox);
  budget_.bytes = smaller(budget_.bytes, layer.policy.budget.bytes);
  budget_.connections = smaller(budget_.connections, layer.policy.budget.connections);
  layers_.push_back(std::move(compiled));
}

// In the full tiers, the sandbox's own list is no bound.
bool CompiledPolicy::is_bound_by(const CompiledLayer& layer) const {
  return layer.role == PolicyLayer::Role::Bound ? layer.lists : !is_full();
}

Verdict CompiledPolicy::decide_block(const Target& target) const {
  const Question question(target);
  Verdict verdict{.decision = Decision::Allow};
  for (const CompiledLayer& layer : layers_) {
    const Found found = find_blocking(layer.block, question);
    if (found.match == Match::Yes)
      return deny("blocked", concat(in_words(target), " is on the block list of the ", layer.name), layer.name,
                  found.rule->written);
    if (found.match == Match::Request && verdict.decision == Decision::Allow)
      verdict = {Decision::NeedsRequest, found.rule->written, layer.name, "", ""};
  }
  return verdict;
}

Verdict CompiledPolicy::decide_allow(const Target& target) const {
  const Question question(target);
  Verdict verdict{.decision = Decision::Allow};
  for (const CompiledLayer& layer : layers_) {
    if (!is_bound_by(layer)) continue;
    const Found found = find_allowing(layer.allow, question);
    if (found.match == Match::No) return deny_unlisted(target, layer);
    if (verdict.decision == Decision::NeedsRequest) continue;
    verdict = {found.match == Match::Yes ? Decision::Allow : Decision::NeedsRequest, found.rule->written, layer.name,
               "", ""};
  }
  return verdict;
}

Verdict CompiledPolicy::decide(const Target& target) const {
  if (!has_network()) return deny("no_network", "the sandbox has no network");
  if (!is_full() && target.protocol == Protocol::Udp)
    return deny("protocol",
                concat(in_words(target), " over UDP: only the tiers 'elevated' and 'unrestricted' relay it"));
  if (!target.name.empty() && normalize_name(target.name) != target.name)
    return deny("not_allowed", "what was asked for is not a host name");
  Verdict blocks = decide_block(target);
  if (blocks.decision == Decision::Deny) return blocks;
  Verdict allows = decide_allow(target);
  if (allows.decision == Decision::Deny || blocks.decision == Decision::Allow) return allows;
  return blocks;
}

std::vector<uint16_t> CompiledPolicy::ports_named(const std::string& name) const {
  std::vector<uint16_t> ports;
  for (const CompiledLayer& layer : layers_)
    for (const auto* rules : {&layer.allow, &layer.block})
      for (const CompiledRule& one : *rules)
        if (is_about(one.rule, name)) ports.insert(ports.end(), one.rule.ports.begin(), one.rule.ports.end());
  std::ranges::sort(ports);
  ports.erase(std::ranges::unique(ports).begin(), ports.end());
  return ports;
}

// Port 0 stands for all that no rule names.
Verdict CompiledPolicy::decide_lookup(const std::string& name) const {
  Target target{.name = name, .protocol = Protocol::Dns};
  const Verdict any = decide(target);
  if (any.decision == Decision::Allow) return any;
  std::vector<uint16_t> ports = ports_named(name);
  ports.insert(ports.begin(), 0);
  for (uint16_t port : ports) {
    target.port = port;
    Verdict verdict = decide(target);
    if (verdict.decision == Decision::Deny) continue;
    verdict.decision = Decision::Allow;
    return verdict;
  }
  return any;
}

Verdict CompiledPolicy::check_resolved(const Target& target, const Address& address, bool own) const {
  Target by_address = target;
  by_address.name.clear();
  by_address.address = address;
  const std::string what = target.name.empty() ? to_text(address) : concat(target.name, " (", to_text(address), ")");
  Verdict blocks = decide_block(by_address);
  if (blocks.decision != Decision::Allow)
    return deny("blocked", concat(what, " is on the block list of the ", blocks.layer), blocks.layer, blocks.rule);
  const SpecialNetwork* special = special_network(address);
  if (!special && !own) return {.decision = Decision::Allow};
  Question question(by_address);
  if (own) question.least_bits = kAddressBits;
  const char* kind = own ? "of this machine" : special->what;
  Verdict verdict{.decision = Decision::Allow};
  for (const CompiledLayer& layer : layers_) {
    if (layer.role == PolicyLayer::Role::Bound && !layer.lists) continue;
    const Found found = find_allowing(layer.allow, question);
    if (found.match != Match::Yes)
      return deny("private_address", concat(what, " is ", kind, ", which must be allowed by address"), layer.name);
    verdict = {Decision::Allow, found.rule->written, layer.name, "", ""};
  }
  return verdict;
}

Result<void> check_policy(const NetworkPolicy& policy, const std::string& field) {
  COVE_TRY(check_rules(policy.allow, field, "allow"));
  return check_rules(policy.block, field, "block");
}

}  // namespace cove::net
