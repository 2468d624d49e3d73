#include <chrono>

#include "base/text.h"
#include "net/gateway/hello_verdict.h"
#include "net/gateway/sandbox_network.h"
#include "net/policy_match.h"

// What a sandbox's network decides, logs and counts.
namespace cove::net {
namespace {

// Of what is kept and sent; coved refuses longer ones.
constexpr size_t kLongestField = 1024;

void clip(NetworkEntry& entry) {
  for (std::string* field :
       {&entry.host, &entry.address, &entry.method, &entry.path, &entry.rule, &entry.layer, &entry.why, &entry.code})
    if (field->size() > kLongestField) field->resize(kLongestField);
}

int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Result<std::vector<Rule>> hosts_of(const std::vector<BrokeredSecret>& secrets) {
  std::vector<Rule> hosts;
  for (const BrokeredSecret& secret : secrets)
    for (const std::string& host : secret.hosts) hosts.push_back(COVE_TRY(parse_rule(host)));
  return hosts;
}

bool is_own_layer(const EffectivePolicy& policy, const std::string& name) {
  return std::ranges::any_of(policy.layers, [&](const PolicyLayer& layer) {
    return layer.role == PolicyLayer::Role::Own && layer.name == name;
  });
}

// Nothing that a list says could refuse a request.
bool no_list_counts(const EffectivePolicy& policy) {
  return std::ranges::all_of(policy.layers, [](const PolicyLayer& layer) {
    return layer.policy.block.empty() && (layer.role == PolicyLayer::Role::Own || layer.policy.allow.empty());
  });
}

}  // namespace

Result<void> SandboxNetwork::set_policy(EffectivePolicy policy) {
  auto rules = CompiledPolicy::compile(policy.layers);
  auto hosts = hosts_of(policy.secrets);
  bool valid = rules && hosts;
  policy_ = valid ? std::move(policy) : EffectivePolicy();
  rules_ = valid ? std::move(*rules) : CompiledPolicy();
  secret_hosts_ = valid ? std::move(*hosts) : std::vector<Rule>();
  passes_requests_ = rules_.is_full() && no_list_counts(policy_);
  if (!has_policy_) add_names_of(policy_, names_);
  has_policy_ = true;
  std::vector<Flow*> flows;
  for (auto& [number, flow] : flows_) flows.push_back(flow.get());
  for (Flow* flow : flows) flow->policy_changed();
  if (udp_) udp_->policy_changed();
  if (over_budget()) cut_over_budget();
  destroy_ended();
  begin_serving();
  if (!rules) return std::unexpected(std::move(rules).error());
  if (!hosts) return std::unexpected(std::move(hosts).error());
  return {};
}

void SandboxNetwork::forget_logged() {
  dns_->forget_logged();
  if (udp_) udp_->forget_logged();
}

bool SandboxNetwork::has_secret_for(const std::string& name, uint16_t port) const {
  return std::ranges::any_of(secret_hosts_, [&](const Rule& rule) { return is_about(rule, name, port); });
}

// While it learns, what its own list does not name is allowed. Bounds hold: their layers are asked first.
Verdict SandboxNetwork::learned(Verdict verdict) const {
  bool unknown = verdict.decision == Decision::Deny && (verdict.code == "not_allowed" || verdict.code == "needs_name");
  if (!policy_.learn || !unknown || !is_own_layer(policy_, verdict.layer)) return verdict;
  verdict.decision = Decision::Allow;
  return verdict;
}

Verdict SandboxNetwork::decide_lookup(const std::string& name) const { return learned(rules_.decide_lookup(name)); }
Verdict SandboxNetwork::decide(const Target& target) const { return learned(rules_.decide(target)); }

Verdict SandboxNetwork::check_resolved(const Target& target, const Address& address) const {
  return rules_.check_resolved(target, address, services_.own_addresses.contains(address));
}

void SandboxNetwork::log(NetworkEntry entry) {
  entry.sandbox = id_;
  entry.time_ms = now_ms();
  wire::Writer message(FromGateway::Entry);
  encode(message, entry);
  if (!services_.outbox.send_entry(message.data())) ++dropped_;
}

void SandboxNetwork::log_denial(const Target& target, const Verdict& verdict) {
  NetworkEntry entry = entry_of(NetworkEntry::Stage::Denied, target, verdict);
  entry.allowed = false;
  entry.time_ms = now_ms();
  clip(entry);
  denials_.push_back(entry);
  if (denials_.size() > kRecentDenials) denials_.pop_front();
  log(std::move(entry));
}

void SandboxNetwork::request_access(const std::string& host, uint16_t port, const std::string& reason) {
  wire::Writer message(FromGateway::Request);
  message.text(id_).text(host.substr(0, kLongestField)).number(port).text(reason.substr(0, kLongestField));
  if (!services_.outbox.send_entry(message.data())) ++dropped_;
}

void SandboxNetwork::count(uint64_t in_bytes, uint64_t out_bytes) {
  in_bytes_ += in_bytes;
  out_bytes_ += out_bytes;
  if (cutting_ || !over_byte_budget()) return;
  cutting_ = true;
  services_.loop.later([self = self_] {
    if (*self) (*self)->cut_over_budget();
  });
}

bool SandboxNetwork::over_byte_budget() const {
  NetworkBudget budget = rules_.budget();
  return budget.bytes > 0 && in_bytes_ + out_bytes_ >= budget.bytes;
}

bool SandboxNetwork::over_budget() const {
  NetworkBudget budget = rules_.budget();
  return over_byte_budget() || (budget.connections > 0 && connections_ >= budget.connections);
}

Verdict SandboxNetwork::budget_denial() const {
  NetworkBudget budget = rules_.budget();
  return denial("budget", over_byte_budget()
                              ? concat("the network budget of ", format_bytes(budget.bytes), " is used up")
                              : concat("the network budget of ", budget.connections, " connections is used up"));
}

// A budget of connections only forbids new ones.
void SandboxNetwork::cut_over_budget() {
  cutting_ = false;
  if (!over_byte_budget()) return;
  std::vector<Flow*> flows;
  for (auto& [number, flow] : flows_) flows.push_back(flow.get());
  for (Flow* flow : flows) flow->cut(budget_denial());
  if (udp_) udp_->policy_changed();
}

}  // namespace cove::net
