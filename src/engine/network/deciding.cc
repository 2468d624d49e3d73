// What people ask about a sandbox's network, and decide.
#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/network/learned_rules.h"
#include "engine/network/live_networks.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

constexpr size_t kMostRemembered = 256;  // of one agent or image
constexpr size_t kLongestReason = 500;

// A name, or an address.
Result<net::Target> target_of(const std::string& host, uint16_t port) {
  net::Target target;
  target.port = port;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (Result<net::Address> address = net::parse_address(bracketed ? host.substr(1, host.size() - 2) : host))
    target.address = *address;
  else
    target.name = COVE_TRY(net::normalize_name(host));
  return target;
}

void add_rule(NetworkPolicy& policy, const std::string& rule) {
  if (std::ranges::find(policy.allow, rule) == policy.allow.end()) policy.allow.push_back(rule);
}

// An approval adds to the sandbox's own list: what another layer refuses it cannot change.
Result<void> check_layer(const NetworkRequest& request, const std::string& own) {
  if (request.layer.empty() || request.layer == own) return {};
  return fail(Error(Code::Conflict, concat("the ", request.layer, " refuses ", request.rule,
                                           ": approving it for the sandbox would change nothing"))
                  .hint(request.layer == "server" ? "change the server's settings network.allow and network.block"
                                                  : "change the network policy of the project"));
}

}  // namespace

Result<std::vector<Networks::LogEntry>> LiveNetworks::log(const Caller& caller, const std::string& sandbox,
                                                          uint64_t after, size_t limit) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Read));
  Shared box = find(info.spec.id);
  return box ? box->log.after(after, limit) : std::vector<LogEntry>();
}

Result<std::shared_ptr<Networks::LogFollower>> LiveNetworks::follow_log(const Caller& caller,
                                                                        const std::string& sandbox) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Read));
  return box_of(info.spec.id)->log.follow();
}

Result<net::Verdict> LiveNetworks::check(const Caller& caller, const std::string& sandbox, const std::string& host,
                                         uint16_t port) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Read));
  net::Target target = COVE_TRY(target_of(host, port));
  net::EffectivePolicy policy = COVE_TRY(effective(info));
  net::CompiledPolicy compiled = COVE_TRY(net::CompiledPolicy::compile(policy.layers));
  net::Verdict verdict = compiled.decide(target);
  const bool passes = verdict.decision != net::Decision::Deny;
  return passes && target.address ? compiled.check_resolved(target, *target.address, false) : verdict;
}

Result<std::vector<std::string>> LiveNetworks::learned(const Caller& caller, const std::string& sandbox) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Read));
  Shared box = find(info.spec.id);
  if (!box) return std::vector<std::string>();
  std::lock_guard lock(box->mutex);
  return proposed_rules(box->learned);
}

// --- requests --------------------------------------------------------------------------------------------------------

Result<void> LiveNetworks::know_requests(Box& box, const std::string& sandbox_id) {
  if (box.requests_known) return {};
  std::vector<NetworkRequest> requests;
  for (const NetworkRequestRecord& record : COVE_TRY(parts_.store.list_network_requests(sandbox_id)))
    requests.push_back(COVE_TRY(request_of(record)));
  box.requests.restore(std::move(requests));
  box.requests_known = true;
  return {};
}

Result<void> LiveNetworks::put_request(const NetworkRequest& request, const std::string& actor, const char* kind) {
  Json data = json_object({{"request", request.id},
                           {"host", request.host},
                           {"port", request.port},
                           {"rule", request.rule},
                           {"layer", request.layer},
                           {"reason", request.reason}});
  if (!request.approved.empty()) data["approved"] = request.approved;
  if (!request.note.empty()) data["note"] = request.note;
  if (!request.session.empty()) data["session"] = request.session;
  EventDraft event{kind, request.project, request.sandbox_id, "", actor, data.dump(), 0};
  COVE_TRY(parts_.store.put_network_request(record_of(request), {&event, 1}));
  return {};
}

void LiveNetworks::record_request(const NetworkRequest& request, const std::string& gone) {
  if (!gone.empty()) static_cast<void>(parts_.store.remove_network_request(gone));
  // A sandbox that is gone meanwhile has no requests.
  if (!put_request(request, concat("sandbox:", request.sandbox_id), "network.requested")) return;
  if (parts_.tell_webhook) parts_.tell_webhook(request);
}

Result<std::vector<NetworkRequest>> LiveNetworks::requests(const Caller& caller, const std::string& sandbox) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Read));
  Shared box = box_of(info.spec.id);
  std::lock_guard lock(box->mutex);
  COVE_TRY(know_requests(*box, info.spec.id));
  return box->requests.all();
}

// What is decided takes effect first: one that fails leaves the request as it was.
Result<NetworkRequest> LiveNetworks::settle(const Caller& caller, const SandboxInfo& sandbox, const RequestName& name,
                                            const std::function<Result<void>(NetworkRequest&)>& decide,
                                            const char* kind) {
  Shared box = box_of(sandbox.spec.id);
  std::lock_guard turn(bounds_mutex_);
  NetworkRequest request;
  {
    std::lock_guard lock(box->mutex);
    COVE_TRY(know_requests(*box, sandbox.spec.id));
    request = *COVE_TRY(box->requests.find(name));
  }
  COVE_TRY(check_pending(request));
  COVE_TRY(decide(request));
  request.decided_by = caller.actor;
  request.decided_ms = parts_.clock.now_ms();
  {
    std::lock_guard lock(box->mutex);
    NetworkRequest* kept = COVE_TRY(box->requests.find({request.id, request.rule}));
    request.count = kept->count;
    *kept = request;
  }
  COVE_TRY(put_request(request, caller.actor, kind));
  return request;
}

Result<NetworkRequest> LiveNetworks::approve(const Caller& caller, const std::string& sandbox, const RequestName& name,
                                             Approval how) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Approve));
  auto decide = [&](NetworkRequest& request) -> Result<void> {
    COVE_TRY(check_layer(request, parts_.host.owner_of(info).session.empty() ? "sandbox" : "session"));
    COVE_TRY(net::parse_rule(request.rule));
    COVE_TRY(allow(caller, info, request, how));
    request.state = "approved";
    request.approved = approval_name(how);
    return {};
  };
  return settle(caller, info, name, decide, "network.approved");
}

Result<NetworkRequest> LiveNetworks::reject(const Caller& caller, const std::string& sandbox, const RequestName& name,
                                            const std::string& reason) {
  SandboxInfo info = COVE_TRY(parts_.host.sandbox_for(caller, sandbox, Scope::Approve));
  auto decide = [&](NetworkRequest& request) -> Result<void> {
    request.state = "rejected";
    request.note = reason.substr(0, kLongestReason);
    return {};
  };
  return settle(caller, info, name, decide, "network.rejected");
}

Result<void> LiveNetworks::allow(const Caller& caller, const SandboxInfo& sandbox, const NetworkRequest& request,
                                 Approval how) {
  const std::string& id = sandbox.spec.id;
  const std::string rule = request.rule;
  switch (how) {
    case Approval::Once: {
      Shared box = box_of(id);
      std::lock_guard lock(box->mutex);
      box->once.push_back({rule});
      break;
    }
    case Approval::Session:
      return parts_.host.change_policy(caller, id, [&](NetworkPolicy& policy) { add_rule(policy, rule); });
    case Approval::Always:
      COVE_TRY(remember(caller, sandbox, rule));
      break;
  }
  return parts_.host.change_policy(caller, id, [](NetworkPolicy&) {});
}

std::vector<std::string> LiveNetworks::begun_for(const std::string& project, const std::string& subject) const {
  std::vector<std::string> ids;
  for (const Shared& box : all()) {
    std::lock_guard lock(box->acting);
    if (box->begun && box->sandbox.project == project && subject_of(box->sandbox) == subject)
      ids.push_back(box->sandbox.spec.id);
  }
  return ids;
}

// For all sandboxes of the subject, also those that run now.
Result<void> LiveNetworks::remember(const Caller& caller, const SandboxInfo& sandbox, const std::string& rule) {
  const std::string subject = subject_of(sandbox);
  if (COVE_TRY(parts_.store.list_network_rules(sandbox.project, subject)).size() >= kMostRemembered)
    return fail(Error(Code::Exhausted, concat("the project remembers ", kMostRemembered, " rules of '", subject, "'"))
                    .hint("allow a wider rule in the network policies of these sandboxes"));
  NetworkRuleRecord record{sandbox.project, subject, rule, caller.actor, parts_.clock.now_ms()};
  const Json data = json_object({{"subject", subject}, {"rule", rule}});
  EventDraft event{"network.remembered", sandbox.project, sandbox.spec.id, "", caller.actor, data.dump(), 0};
  COVE_TRY(parts_.store.put_network_rule(record, {&event, 1}));
  return raise_versions(caller, sandbox.project, subject, sandbox.spec.id);
}

// Of the sandboxes of a subject that run, but for one: they have what is on record now.
Result<void> LiveNetworks::raise_versions(const Caller& caller, const std::string& project, const std::string& subject,
                                          const std::string& but) {
  Caller changer = caller;
  changer.project = project;
  Result<void> each;
  for (const std::string& sandbox : begun_for(project, subject)) {
    if (sandbox == but) continue;
    Result<void> one = parts_.host.change_policy(changer, sandbox, [](NetworkPolicy&) {});
    if (!one && one.error().code() != Code::NotFound) each = one;
  }
  return each;
}

Result<std::vector<NetworkRuleRecord>> LiveNetworks::approved_rules(const std::string& project) {
  COVE_TRY(parts_.store.find_project(project));
  return parts_.store.list_network_rules(project, "");
}

Result<void> LiveNetworks::withdraw_rule(const Caller& caller, const NetworkRuleRecord& rule) {
  if (!caller.scopes.allow(Scope::Approve) && !caller.scopes.allow(Scope::Manage))
    return fail(Code::Denied, "withdrawing a rule needs the scope 'manage' or 'approve'");
  std::lock_guard turn(bounds_mutex_);
  const Json data = json_object({{"subject", rule.subject}, {"rule", rule.rule}});
  EventDraft event{"network.withdrawn", rule.project, "", "", caller.actor, data.dump(), 0};
  COVE_TRY(parts_.store.remove_network_rule(rule, {&event, 1}));
  return raise_versions(caller, rule.project, rule.subject, "");
}

void LiveNetworks::end_approval(const std::string& sandbox_id, const std::string& rule) {
  Shared box = find(sandbox_id);
  if (!box) return;
  std::string project;
  {
    std::lock_guard lock(box->mutex);
    std::erase_if(box->once, [&](const Once& once) { return once.rule == rule && once.connection != 0; });
    project = box->project;
  }
  Result<void> ended = parts_.host.change_policy(server_in(project), sandbox_id, [](NetworkPolicy&) {});
  if (!ended && ended.error().code() != Code::NotFound)
    log::warning("an approval for one connection could not be ended",
                 {{"sandbox", sandbox_id}, {"why", ended.error().message()}});
}

}  // namespace cove::engine
