// Rules of network policies, paths of requests and the files of images that name hosts: whatever is taken is canonical,
// and is decided on without harm.
#include "messages.h"
#include "net/groups.h"
#include "net/path.h"
#include "net/policy.h"

namespace {

using namespace cove;
using namespace cove::fuzz;
using namespace cove::net;

void take_rule(std::string_view text, const Target& target) {
  Result<Rule> rule = parse_rule(text);
  if (!rule) return require(rule.error().code() == Code::Invalid);
  const std::string canonical = to_text(*rule);
  Result<Rule> again = parse_rule(canonical);
  require(again.has_value() && *again == *rule && to_text(*again) == canonical);
  const NetworkPolicy policy{.tier = NetworkTier::Standard, .enabled = true, .allow = {canonical}};
  NetworkPolicy blocked = policy;
  blocked.block = {canonical};
  const auto own = PolicyLayer::Role::Own;
  const CompiledPolicy allows = CompiledPolicy::compile({{"sandbox", own, policy}}).value();
  const CompiledPolicy blocks = CompiledPolicy::compile({{"sandbox", own, blocked}}).value();
  (void)allows.decide(target);
  require(blocks.decide(target).decision != Decision::Allow);
}

void take_hosts(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    Result<Rule> rule = parse_rule(host);
    require(rule.has_value() && !rule->reads_requests());
    require(rule->kind == Rule::Kind::Name || rule->kind == Rule::Kind::Network);
  }
}

void take_name(std::string_view text) {
  if (Result<std::string> name = normalize_name(text)) {
    require(normalize_name(*name).value() == *name && !parse_address(*name));
    require(!looks_numeric(*name));
  }
  if (Result<Address> address = parse_address(text)) {
    require(parse_address(to_text(*address)).value() == *address);
    require(is_public(*address) == is_public(translated(*address)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view line = input.substr(0, input.find('\n'));
  const std::string_view rest = line.size() < input.size() ? input.substr(line.size() + 1) : std::string_view();
  take_rule(
      line,
      {.name = "api.example.org", .port = 80, .protocol = Protocol::Http, .method = "GET", .path = std::string(rest)});
  take_name(line);
  take_hosts(hosts_of_npmrc(input));
  take_hosts(hosts_of_npm_definitions(input));
  take_hosts(hosts_of_apt_sources(input));
  return 0;
}
