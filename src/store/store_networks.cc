#include "base/text.h"
#include "store/database.h"
#include "store/store.h"

// Policies of networks, rules that were approved, and requests for access.
namespace cove {
namespace {

NetworkPolicyRecord read_policy(const Query& row) {
  return {row.text(0), row.text(1), static_cast<uint64_t>(row.integer(2)), row.text(3)};
}

Error explain(Error error, const std::string& what) {
  return error.code() == Code::NotFound ? Error(Code::NotFound, what) : error;
}

}  // namespace

Result<uint64_t> Store::put_network_policy(const NetworkPolicyRecord& policy, std::span<const EventDraft> events) {
  return change({"put_network_policy", Survives::PowerCut}, events, [&] {
    return database_->run(
        "INSERT INTO network_policies (project, agent, version, policy) VALUES (?, ?, ?, ?) "
        "ON CONFLICT(project, agent) DO UPDATE SET version = excluded.version, policy = excluded.policy",
        policy.project, policy.agent, policy.version, policy.policy);
  });
}

Result<std::optional<NetworkPolicyRecord>> Store::find_network_policy(const std::string& project,
                                                                      const std::string& agent) {
  std::lock_guard turn(mutex_);
  Query row = COVE_TRY(database_->query(
      "SELECT project, agent, version, policy FROM network_policies WHERE project = ? AND agent = ?", project, agent));
  if (!COVE_TRY(row.next())) return std::optional<NetworkPolicyRecord>();
  return std::optional(read_policy(row));
}

Result<std::vector<NetworkPolicyRecord>> Store::list_network_policies(const std::string& project) {
  std::lock_guard turn(mutex_);
  Query rows = COVE_TRY(database_->query(
      "SELECT project, agent, version, policy FROM network_policies WHERE project = ? ORDER BY agent", project));
  std::vector<NetworkPolicyRecord> policies;
  while (COVE_TRY(rows.next())) policies.push_back(read_policy(rows));
  return policies;
}

Result<uint64_t> Store::put_network_rule(const NetworkRuleRecord& rule, std::span<const EventDraft> events) {
  return change({"put_network_rule", Survives::PowerCut}, events, [&]() -> Result<void> {
    Result<void> done = database_->run(
        "INSERT INTO network_rules (project, subject, rule, actor, created_ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT(project, subject, rule) DO NOTHING",
        rule.project, rule.subject, rule.rule, rule.actor, rule.created_ms);
    if (!done) return fail(explain(std::move(done).error(), concat("there is no project '", rule.project, "'")));
    return {};
  });
}

Result<std::vector<NetworkRuleRecord>> Store::list_network_rules(const std::string& project,
                                                                 const std::string& subject) {
  std::lock_guard turn(mutex_);
  Query rows =
      COVE_TRY(database_->query("SELECT project, subject, rule, actor, created_ms FROM network_rules "
                                "WHERE project = ?1 AND (?2 = '' OR subject = ?2) ORDER BY subject, created_ms, rule",
                                project, subject));
  std::vector<NetworkRuleRecord> rules;
  while (COVE_TRY(rows.next()))
    rules.push_back({rows.text(0), rows.text(1), rows.text(2), rows.text(3), rows.integer(4)});
  return rules;
}

Result<uint64_t> Store::remove_network_rule(const NetworkRuleRecord& rule, std::span<const EventDraft> events) {
  return change({"remove_network_rule", Survives::PowerCut}, events, [&]() -> Result<void> {
    COVE_TRY(database_->run("DELETE FROM network_rules WHERE project = ? AND subject = ? AND rule = ?", rule.project,
                            rule.subject, rule.rule));
    if (database_->changes() > 0) return {};
    return fail(Code::NotFound, concat("there is no rule '", rule.rule, "' of '", rule.subject, "'"));
  });
}

Result<uint64_t> Store::put_network_request(const NetworkRequestRecord& request, std::span<const EventDraft> events) {
  return change({"put_network_request"}, events, [&]() -> Result<void> {
    Result<void> done = database_->run(
        "INSERT INTO network_requests (id, sandbox_id, created_ms, request) VALUES (?, ?, ?, ?) "
        "ON CONFLICT(id) DO UPDATE SET request = excluded.request",
        request.id, request.sandbox_id, request.created_ms, request.request);
    if (!done) return fail(explain(std::move(done).error(), concat("there is no sandbox '", request.sandbox_id, "'")));
    return {};
  });
}

Result<std::vector<NetworkRequestRecord>> Store::list_network_requests(const std::string& sandbox_id) {
  std::lock_guard turn(mutex_);
  Query rows =
      COVE_TRY(database_->query("SELECT id, sandbox_id, created_ms, request FROM network_requests WHERE sandbox_id = ? "
                                "ORDER BY created_ms, id",
                                sandbox_id));
  std::vector<NetworkRequestRecord> requests;
  while (COVE_TRY(rows.next())) requests.push_back({rows.text(0), rows.text(1), rows.integer(2), rows.text(3)});
  return requests;
}

Result<void> Store::remove_network_request(const std::string& id) {
  COVE_TRY(change({"remove_network_request"}, {},
                  [&] { return database_->run("DELETE FROM network_requests WHERE id = ?", id); }));
  return {};
}

}  // namespace cove
