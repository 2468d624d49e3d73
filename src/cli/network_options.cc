#include <algorithm>

#include "cli/sandbox_options.h"
#include "net/groups.h"
#include "net/rule.h"

namespace cove::cli {
namespace {

bool all_of(const std::string& text, bool (*is)(char)) { return !text.empty() && std::ranges::all_of(text, is); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// At the commas between rules: not at those between ports, nor at those between methods.
std::vector<std::string> split_rules(const std::string& text) {
  std::vector<std::string> rules;
  bool continues = false;
  for (const std::string& piece : split(text, ',')) {
    if ((continues || all_of(piece, is_digit)) && !rules.empty())
      rules.back() += "," + piece;
    else
      rules.push_back(piece);
    continues = all_of(piece, is_capital);
  }
  return rules;
}

}  // namespace

Result<NetworkTier> parse_network_tier(const std::string& text) {
  if (text == "none") return NetworkTier::Sandbox;
  if (text == "full") return NetworkTier::Elevated;
  if (std::optional<NetworkTier> tier = parse_tier(text)) return *tier;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a network tier"))
                  .hint(concat("write ", join(network_words(), ", "))));
}

std::vector<std::string> network_words() {
  std::vector<std::string> words = tier_names();
  words.insert(words.end(), {"none", "full"});
  return words;
}

std::vector<std::string> group_rules() {
  std::vector<std::string> rules;
  for (const net::Group& group : net::groups()) rules.push_back(concat("@", std::string_view(group.name)));
  return rules;
}

Result<std::vector<std::string>> parse_rules(const std::string& text) {
  std::vector<std::string> rules;
  for (const std::string& rule : split_rules(text)) rules.push_back(net::to_text(COVE_TRY(net::parse_rule(rule))));
  return rules;
}

Result<NetworkPolicy> policy_of(const NetworkWords& words) {
  NetworkPolicy policy;
  policy.tier = words.tier.value_or(words.allow.empty() ? NetworkTier::Sandbox : NetworkTier::Standard);
  policy.enabled = policy.tier >= NetworkTier::Standard;
  policy.allow = words.allow;
  policy.block = words.block;
  if (!policy.enabled && !policy.allow.empty())
    return fail(Error(Code::Invalid, concat("the tier '", std::string_view(tier_name(policy.tier)),
                                            "' has no network, and something is to be allowed"))
                    .hint("write --network standard, or leave it out"));
  COVE_TRY(check_network(policy));
  return policy;
}

}  // namespace cove::cli
