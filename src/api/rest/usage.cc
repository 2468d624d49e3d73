// What a project uses now, and what its execs have used.
#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "base/text.h"

namespace cove::api {
namespace {

Json figures_json(const UsageTotal& total) {
  Json json = {{"execs", total.execs}};
  for (const UsageField& field : kUsageFields) json[field.name] = total.figures.*field.figure;
  return json;
}

Result<UsageFilter> usage_filter(Call& call) {
  EventFilter filter = COVE_TRY(event_filter(call.request()));
  return UsageFilter{call.caller.project, filter.sandbox_id, filter.session,
                     filter.agent,        filter.since_ms,   filter.until_ms};
}

// For each sandbox or session, where that was asked for.
Checked<void> add_parts(Call& call, const UsageFilter& filter, Json& document) {
  const std::string by = text_parameter(call.request(), "by");
  const size_t limit = COVE_TRY(limit_parameter(call.request()));
  if (by.empty()) return {};
  if (by != "sandbox" && by != "session") return invalid(concat("'by' must be sandbox or session, not '", by, "'"));
  const bool sandboxes = by == "sandbox";
  std::vector<UsageTotal> totals =
      COVE_TRY(call.engine().store().usage_by(sandboxes ? Store::UsageBy::Sandbox : Store::UsageBy::Session, filter,
                                              text_parameter(call.request(), "after"), limit + 1));
  const bool more = totals.size() > limit;
  if (more) totals.resize(limit);
  Json items = Json::array();
  for (const UsageTotal& total : totals) {
    Json item = figures_json(total);
    item[sandboxes ? "sandbox_id" : "session"] = total.of;
    items.push_back(std::move(item));
  }
  document["items"] = std::move(items);
  document["next"] = more ? Json(totals.back().of) : Json();
  return {};
}

Outcome get_usage(Call& call) {
  engine::Numbers used = COVE_TRY(call.engine().usage(call.caller.project));
  const UsageFilter filter = COVE_TRY(usage_filter(call));
  Json document = {
      {"project", call.caller.project}, {"sandboxes", used.sandboxes},
      {"memory_bytes", used.memory},    {"disk_bytes", used.disk},
      {"logs_bytes", used.logs},        {"totals", figures_json(COVE_TRY(call.engine().store().total_usage(filter)))}};
  COVE_TRY(add_parts(call, filter, document));
  return call.respond(200, dump(document));
}

}  // namespace

void add_usage(Routes& routes) {
  routes.add("GET", "/v1/usage", kRead, get_usage,
             {"sandbox", "session", "agent", "since", "until", "by", "after", "limit"});
}

}  // namespace cove::api
