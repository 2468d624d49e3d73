// Sandboxes: make, list, look at, change, delete.
#include "api/rest/auth.h"
#include "api/rest/call.h"
#include "api/rest/conditions.h"
#include "api/rest/digest.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

// The sandbox lives as long as the stream. Where the server stops, its lifecycle decides.
Outcome hold(Call& call, const engine::SandboxInfo& sandbox) {
  EventStream stream(call.exchange);
  bool there = stream.begin(201) && stream.send(sse_event(std::nullopt, "sandbox", dump(sandbox_json(sandbox))));
  EventStream::Wake wake = there ? EventStream::Wake::Timeout : EventStream::Wake::Gone;
  while (wake == EventStream::Wake::Timeout) wake = stream.wait(-1);
  if (wake == EventStream::Wake::Stopping) return {};
  Result<void> removed = call.engine().remove(call.caller, sandbox.spec.id);
  if (!removed && removed.error().code() != Code::NotFound) return refuse(removed.error());
  return {};
}

Outcome create_sandbox(Call& call) {
  Json body = COVE_TRY(call.body());
  engine::CreateOrder order = COVE_TRY(parse_create(body, call.engine().config()));
  if (call.once) {
    order.idempotency_key = call.once->entry().key;
    order.request_hash = call.once->entry().request_hash;
  }
  const bool held = accepts(call.request(), kEventStream);
  if (held && !order.start) return invalid("a sandbox that lives as long as its stream is started at once");
  if (held) order.spec.one_use = true, order.lifecycle.on_expire = OnExpire::Delete;
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().create(call.caller, std::move(order)));
  if (held) return hold(call, sandbox);
  return call.respond(201, dump(sandbox_json(sandbox)), {{"Location", concat("/v1/sandboxes/", sandbox.spec.id)}});
}

Checked<engine::SandboxFilter> filter_of(const http::Request& request) {
  engine::SandboxFilter filter;
  filter.name = text_parameter(request, "name");
  if (auto state = request.parameter("state")) {
    filter.state = engine::parse_state(std::string(*state));
    if (!filter.state) return invalid(concat("'state': there is no state '", *state, "'"));
  }
  for (const auto& [name, value] : request.query) {
    if (name != "label") continue;
    size_t equals = value.find('=');
    if (equals == 0 || equals == std::string::npos) return invalid(concat("'label': write it as KEY=VALUE"));
    filter.labels[value.substr(0, equals)] = value.substr(equals + 1);
  }
  return filter;
}

Outcome list_sandboxes(Call& call) {
  engine::SandboxFilter filter = COVE_TRY(filter_of(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  auto page = COVE_TRY(call.engine().list(call.caller, filter, text_parameter(call.request(), "after"), limit));
  std::vector<std::string> items;
  for (const engine::SandboxInfo& sandbox : page.items) items.push_back(dump(sandbox_json(sandbox)));
  return call.respond(200, page_json(items, page.next));
}

// Changes with all that is told of a sandbox, but for what every use of it changes.
std::string tag_of(const engine::SandboxInfo& sandbox) {
  Json document = sandbox_json(sandbox);
  for (const char* name : {"last_used_at", "expires_at"}) document.erase(name);
  return concat("\"", Digest().update(dump(document)).hex().substr(0, 32), "\"");
}

Outcome respond_with(Call& call, const engine::SandboxInfo& sandbox) {
  return call.respond(200, dump(sandbox_json(sandbox)), {{"ETag", tag_of(sandbox)}});
}

Outcome get_sandbox(Call& call) {
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  if (!COVE_TRY(is_known(call.request(), tag_of(sandbox)))) return respond_with(call, sandbox);
  COVE_TRY(call.exchange.respond(304, {{"ETag", tag_of(sandbox)}}, ""));
  return {};
}

Outcome update_sandbox(Call& call) {
  Json body = COVE_TRY(call.body());
  std::lock_guard turn(call.api.updates);
  engine::SandboxInfo now = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  COVE_TRY(check_unchanged(call.request(), tag_of(now)));
  engine::UpdateOrder order = COVE_TRY(parse_update(body, now));
  return respond_with(call, COVE_TRY(call.engine().update(call.caller, call.sandbox(), order)));
}

Outcome delete_sandbox(Call& call) {
  if (is_conditional(call.request()))
    COVE_TRY(check_unchanged(call.request(), tag_of(COVE_TRY(call.engine().find(call.caller, call.sandbox())))));
  COVE_TRY(call.engine().remove(call.caller, call.sandbox()));
  return call.no_content();
}

Outcome get_stats(Call& call) {
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  Stats stats = COVE_TRY(call.engine().stats(call.caller, call.sandbox()));
  return call.respond(200, dump(stats_json(stats, sandbox.spec.limits, now_ms())));
}

}  // namespace

void add_sandboxes(Routes& routes) {
  routes.add("POST", "/v1/sandboxes", kRun, create_sandbox, {}, Conditions::Refused, Repeat::OnceRecorded);
  routes.add("GET", "/v1/sandboxes", kRead, list_sandboxes, {"after", "limit", "name", "state", "label*"});
  routes.add("GET", "/v1/sandboxes/{id}", kTokenRead, get_sandbox, {}, Conditions::Honoured);
  routes.add("PATCH", "/v1/sandboxes/{id}", kRun, update_sandbox, {}, Conditions::Honoured);
  routes.add("DELETE", "/v1/sandboxes/{id}", kRun, delete_sandbox, {}, Conditions::Honoured);
  routes.add("GET", "/v1/sandboxes/{id}/stats", kTokenRead, get_stats);
}

}  // namespace cove::api
