// Networks of sandboxes: the policy in force, the log, what would be allowed, and requests for access.
#include "engine/network/networks.h"

#include <sys/eventfd.h>

#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

using engine::Networks;

constexpr size_t kAtOnce = 256;

Json layer_json(const net::PolicyLayer& layer) {
  return json_object({{"name", layer.name},
                      {"role", layer.role == net::PolicyLayer::Role::Own ? "own" : "bound"},
                      {"policy", network_json(layer.policy)}});
}

// Secrets are in no answer.
Json effective_json(const net::EffectivePolicy& policy, const net::CompiledPolicy& compiled) {
  Json layers = Json::array();
  for (const net::PolicyLayer& layer : policy.layers) layers.push_back(layer_json(layer));
  return json_object(
      {{"version", policy.version},
       {"tier", tier_name(compiled.tier())},
       {"enabled", compiled.has_network()},
       {"learn", policy.learn},
       {"budget", json_object({{"bytes", compiled.budget().bytes}, {"connections", compiled.budget().connections}})},
       {"layers", std::move(layers)}});
}

Outcome get_network(Call& call) {
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  net::EffectivePolicy policy = COVE_TRY(call.engine().networks().effective(sandbox));
  net::CompiledPolicy compiled = COVE_TRY(net::CompiledPolicy::compile(policy.layers));
  return call.respond(200, dump(effective_json(policy, compiled)));
}

// --- the log -----------------------------------------------------------------------------------------------------

Json entry_json(const Networks::LogEntry& each) {
  const net::NetworkEntry& entry = each.entry;
  return json_object({{"seq", each.seq},
                      {"time", time_json(entry.time_ms)},
                      {"stage", net::stage_name(entry.stage)},
                      {"protocol", net::protocol_name(entry.protocol)},
                      {"connection", entry.connection},
                      {"host", entry.host},
                      {"address", text_or_null(entry.address)},
                      {"port", entry.port},
                      {"method", text_or_null(entry.method)},
                      {"path", text_or_null(entry.path)},
                      {"allowed", entry.allowed},
                      {"rule", text_or_null(entry.rule)},
                      {"layer", text_or_null(entry.layer)},
                      {"why", entry.why},
                      {"code", text_or_null(entry.code)},
                      {"in_bytes", entry.in_bytes},
                      {"out_bytes", entry.out_bytes}});
}

Outcome list_log(Call& call, uint64_t after, size_t limit) {
  std::vector<std::string> items;
  for (const auto& entry : COVE_TRY(call.engine().networks().log(call.caller, call.sandbox(), after, limit))) {
    items.push_back(dump(entry_json(entry)));
    after = entry.seq;
  }
  std::string page = page_json(items, items.size() == limit ? concat(after) : "");
  page.pop_back();
  return call.respond(200, concat(page, ",\"last_seq\":", after, "}"));
}

// Cleared before the entries are read: what comes meanwhile wakes again.
void clear(int fd) {
  eventfd_t count = 0;
  ::eventfd_read(fd, &count);
}

Outcome stream_log(Call& call, uint64_t after) {
  Networks& networks = call.engine().networks();
  auto follower = COVE_TRY(networks.follow_log(call.caller, call.sandbox()));
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  while (true) {
    Result<std::vector<Networks::LogEntry>> entries = networks.log(call.caller, call.sandbox(), after, kAtOnce);
    if (!entries) return stream.end();  // the sandbox is gone
    std::string text;
    for (const auto& entry : *entries) text += sse_event(entry.seq, "entry", dump(entry_json(entry)));
    if (!entries->empty()) {
      after = entries->back().seq;
      COVE_TRY(stream.send(text));
      continue;
    }
    EventStream::Wake wake = stream.wait(follower->fd.get());
    if (wake == EventStream::Wake::Gone || wake == EventStream::Wake::Stopping) return {};
    if (wake == EventStream::Wake::Ready) clear(follower->fd.get());
  }
}

Outcome get_log(Call& call) {
  auto after = static_cast<uint64_t>(COVE_TRY(integer_parameter(call.request(), "after", 0, INT64_MAX)).value_or(0));
  const size_t limit = COVE_TRY(limit_parameter(call.request()));
  if (auto last = COVE_TRY(last_event_id(call.request()))) after = *last;
  return accepts(call.request(), kEventStream) ? stream_log(call, after) : list_log(call, after, limit);
}

// --- what would be, and what was -------------------------------------------------------------------------------------

const char* decision_name(net::Decision decision) {
  switch (decision) {
    case net::Decision::Allow:
      return "allow";
    case net::Decision::Deny:
      return "deny";
    case net::Decision::NeedsRequest:
      return "needs_request";
  }
  return "deny";
}

Outcome check(Call& call) {
  const std::string host = text_parameter(call.request(), "host");
  if (host.empty()) return invalid("'host' is missing: name a host or an address");
  constexpr int64_t kHttps = 443;
  const auto port =
      static_cast<uint16_t>(COVE_TRY(integer_parameter(call.request(), "port", 1, UINT16_MAX)).value_or(kHttps));
  net::Verdict verdict = COVE_TRY(call.engine().networks().check(call.caller, call.sandbox(), host, port));
  return call.respond(200, dump(json_object({{"host", host},
                                             {"port", port},
                                             {"allowed", verdict.decision == net::Decision::Allow},
                                             {"decision", decision_name(verdict.decision)},
                                             {"rule", text_or_null(verdict.rule)},
                                             {"layer", text_or_null(verdict.layer)},
                                             {"why", verdict.why},
                                             {"code", text_or_null(verdict.code)}})));
}

Outcome get_learned(Call& call) {
  Json rules = COVE_TRY(call.engine().networks().learned(call.caller, call.sandbox()));
  return call.respond(200, dump(json_object({{"rules", rules.is_array() ? std::move(rules) : Json::array()}})));
}

Json request_json(const engine::NetworkRequest& request) {
  return json_object({{"id", request.id},
                      {"sandbox_id", request.sandbox_id},
                      {"session_id", text_or_null(request.session)},
                      {"host", request.host},
                      {"port", request.port},
                      {"rule", request.rule},
                      {"layer", text_or_null(request.layer)},
                      {"reason", request.reason},
                      {"state", request.state},
                      {"approved", text_or_null(request.approved)},
                      {"decided_by", text_or_null(request.decided_by)},
                      {"note", text_or_null(request.note)},
                      {"count", request.count},
                      {"created_at", time_json(request.created_ms)},
                      {"decided_at", time_json(request.decided_ms)}});
}

Outcome list_requests(Call& call) {
  std::vector<PageItem> items;
  for (const engine::NetworkRequest& request : COVE_TRY(call.engine().networks().requests(call.caller, call.sandbox())))
    items.push_back({concat(request.created_ms, "-", request.id), dump(request_json(request))});
  return respond_page(call, items);
}

// {id | rule, approve: once|session|always} or {id | rule, reject: true, reason}
Outcome decide_request(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  Networks::RequestName name;
  name.id = COVE_TRY(fields.text("id")).value_or("");
  name.rule = COVE_TRY(fields.text("rule")).value_or("");
  auto approve = COVE_TRY(fields.choice("approve", {"once", "session", "always"}));
  const bool reject = COVE_TRY(fields.flag("reject")).value_or(false);
  const std::string reason = COVE_TRY(fields.text("reason")).value_or("");
  COVE_TRY(fields.finish());
  if (name.id.empty() && name.rule.empty()) return refuse(fields.missing("id").hint("name the request, or its rule"));
  if (approve.has_value() == reject) return invalid("exactly one of 'approve' and 'reject' must be given");
  Networks& networks = call.engine().networks();
  engine::NetworkRequest request =
      approve ? COVE_TRY(networks.approve(call.caller, call.sandbox(), name, *engine::parse_approval(*approve)))
              : COVE_TRY(networks.reject(call.caller, call.sandbox(), name, reason));
  return call.respond(200, dump(request_json(request)));
}

// --- rules that were approved for good -------------------------------------------------------------------------------

Checked<std::string> project_of(const Call& call) {
  const std::string& project = call.captured("project");
  if (call.caller.local || project == call.caller.project) return project;
  return refuse(404, "not_found", concat("there is no project '", project, "'"));
}

Outcome list_rules(Call& call) {
  std::vector<PageItem> items;
  for (const NetworkRuleRecord& rule : COVE_TRY(call.engine().networks().approved_rules(COVE_TRY(project_of(call)))))
    items.push_back(
        {concat(rule.subject, " ", rule.rule), dump(json_object({{"subject", rule.subject},
                                                                 {"rule", rule.rule},
                                                                 {"approved_by", rule.actor},
                                                                 {"approved_at", time_json(rule.created_ms)}}))});
  return respond_page(call, items);
}

Outcome withdraw_rule(Call& call) {
  NetworkRuleRecord rule;
  rule.project = COVE_TRY(project_of(call));
  rule.subject = text_parameter(call.request(), "subject");
  rule.rule = text_parameter(call.request(), "rule");
  if (rule.subject.empty() || rule.rule.empty()) return invalid("'subject' and 'rule' must be given");
  COVE_TRY(call.engine().networks().withdraw_rule(call.caller, rule));
  return call.no_content();
}

}  // namespace

void add_networks(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/network", kRead, get_network);
  routes.add("GET", "/v1/sandboxes/{id}/network/log", kRead, get_log, {"after", "limit"});
  routes.add("GET", "/v1/sandboxes/{id}/network/check", kRead, check, {"host", "port"});
  routes.add("GET", "/v1/sandboxes/{id}/network/learned", kRead, get_learned);
  routes.add("GET", "/v1/sandboxes/{id}/network/requests", kRead, list_requests, {"after", "limit"});
  routes.add("POST", "/v1/sandboxes/{id}/network/requests", kApprove, decide_request);
  routes.add("GET", "/v1/projects/{project}/network/rules", kRead, list_rules, {"after", "limit"});
  routes.add("DELETE", "/v1/projects/{project}/network/rules", kApprove, withdraw_rule, {"subject", "rule"});
}

}  // namespace cove::api
