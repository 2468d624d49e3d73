// The network policies of the server, of projects and of their agents.
#include "base/json.h"
#include "base/text.h"
#include "engine/network/live_networks.h"
#include "engine/record_codec.h"
#include "image/catalogue.h"

namespace cove::engine {
namespace {

constexpr size_t kMostAgents = 256;  // of a project, with a policy of their own

Result<NetworkBound> bound_of(const NetworkPolicyRecord& record) {
  return NetworkBound{record.project, record.agent, COVE_TRY(network_policy_of(record.policy)), record.version};
}

std::string image_name(const std::string& image) {
  const std::string name = image.substr(0, image.find('@'));
  return name.empty() ? "host" : name;
}

}  // namespace

// Other settings than before are another version.
Result<void> LiveNetworks::record_server_policy() {
  const std::string policy = record_text(server_);
  std::optional<NetworkPolicyRecord> before = COVE_TRY(parts_.store.find_network_policy("", ""));
  server_version_ = before ? before->version : 0;
  if (before && before->policy == policy) return {};
  ++server_version_;
  COVE_TRY(parts_.store.put_network_policy({"", "", server_version_, policy}, {}));
  return {};
}

Result<NetworkBound> LiveNetworks::find_bound(const std::string& project, const std::string& agent) {
  std::optional<NetworkPolicyRecord> record = COVE_TRY(parts_.store.find_network_policy(project, agent));
  if (record) return bound_of(*record);
  return NetworkBound{project, agent, no_bound(), 0};
}

std::string LiveNetworks::subject_of(const SandboxInfo& sandbox) const {
  const std::string agent = parts_.host.owner_of(sandbox).agent;
  return agent.empty() ? concat("image:", image_name(sandbox.spec.image)) : concat("agent:", agent);
}

Result<NetworkBound> LiveNetworks::bound(const std::string& project, const std::string& agent) {
  COVE_TRY(parts_.store.find_project(project));
  return find_bound(project, agent);
}

Result<std::vector<NetworkBound>> LiveNetworks::bounds(const std::string& project) {
  std::vector<NetworkBound> bounds;
  for (const NetworkPolicyRecord& record : COVE_TRY(parts_.store.list_network_policies(project)))
    bounds.push_back(COVE_TRY(bound_of(record)));
  return bounds;
}

Result<NetworkBound> LiveNetworks::set_bound(const Caller& caller, const std::string& project, const std::string& agent,
                                             const NetworkChange& change) {
  std::lock_guard turn(bounds_mutex_);
  NetworkBound bound = COVE_TRY(this->bound(project, agent));
  const NetworkPolicy before = bound.policy;
  bound.policy = changed(bound.policy, change);
  COVE_TRY(net::check_policy(bound.policy));
  if (bound.version == 0 && COVE_TRY(bounds(project)).size() >= kMostAgents)
    return fail(Code::Exhausted, concat("the project ", project, " has network policies of ", kMostAgents, " agents"));
  const std::string wider = widening(before, bound.policy, Role::Bound);
  if (!wider.empty() && !caller.scopes.allow(Scope::Approve))
    return fail(Error(Code::Denied, concat(wider, " needs the scope 'approve'")).at("/network"));
  ++bound.version;
  const std::string policy = record_text(bound.policy);
  EventDraft event{"network.bound", project, "", "", caller.actor, "", 0};
  event.data = concat(R"({"agent":)", Json(agent).dump(), R"(,"version":)", bound.version, R"(,"old":)",
                      record_text(before), R"(,"new":)", policy, "}");
  COVE_TRY(parts_.store.put_network_policy({project, agent, bound.version, policy}, {&event, 1}));
  COVE_TRY(refresh_all(project));
  return bound;
}

}  // namespace cove::engine
