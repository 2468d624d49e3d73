// Whether the server lives, and whether it can make sandboxes. For everybody.
#include "api/rest/call.h"
#include "api/rest/response_json.h"

namespace cove::api {
namespace {

Outcome respond(http::Exchange& exchange, int status, const Json& document, http::Headers headers = {}) {
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Cache-Control", "no-store");
  COVE_TRY(exchange.respond(status, headers, dump(document)));
  return {};
}

Json check(const char* name, const Result<void>& result) {
  Json json = {{"name", name}, {"ok", result.has_value()}};
  if (!result) json["detail"] = result.error().message();
  return json;
}

Result<void> check_store(Api& api) {
  COVE_TRY(api.engine.store().first_event());
  return {};
}

Result<void> check_spawn(const Api& api) {
  if (api.can_spawn()) return {};
  return fail(Code::Unavailable, "cove-spawn is gone");
}

// Also who it is: a newer `cove` replaces an older server that was started by a command.
Outcome get_live(Api& api, http::Exchange& exchange) {
  http::Headers headers = {{"Cove-Version", COVE_VERSION}};
  if (api.autostarted) headers.emplace_back("Cove-Auto", "1");
  return respond(exchange, 200, {{"status", "live"}}, std::move(headers));
}

Outcome get_ready(Api& api, http::Exchange& exchange) {
  Result<void> store = check_store(api);
  Result<void> spawn = check_spawn(api);
  bool ready = store && spawn;
  Json checks = Json::array({check("store", store), check("spawn", spawn)});
  return respond(exchange, ready ? 200 : 503,
                 {{"status", ready ? "ready" : "not_ready"}, {"checks", std::move(checks)}});
}

}  // namespace

void add_health(Routes& routes) {
  routes.add_open("GET", "/v1/health/live", get_live);
  routes.add_open("GET", "/v1/health/ready", get_ready);
}

}  // namespace cove::api
