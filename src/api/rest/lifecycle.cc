// What a sandbox can be told to do.
#include "api/rest/call.h"
#include "api/rest/response_json.h"
#include "base/text.h"

namespace cove::api {
namespace {

Outcome respond(Call& call, const engine::SandboxInfo& sandbox) {
  return call.respond(200, dump(sandbox_json(sandbox)));
}

// A body, where there is one, has nothing to say.
Outcome take_empty_body(Call& call) {
  Json body = COVE_TRY(call.body());
  COVE_TRY(Fields(body).finish());
  return {};
}

Outcome start(Call& call) {
  COVE_TRY(take_empty_body(call));
  return respond(call, COVE_TRY(call.engine().start(call.caller, call.sandbox())));
}

Outcome stop(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  auto grace = COVE_TRY(fields.duration("grace"));
  COVE_TRY(fields.finish());
  if (!grace) grace = COVE_TRY(call.engine().find(call.caller, call.sandbox())).spec.limits.grace.value;
  return respond(call, COVE_TRY(call.engine().stop(call.caller, call.sandbox(), *grace)));
}

Outcome pause(Call& call) {
  COVE_TRY(take_empty_body(call));
  return respond(call, COVE_TRY(call.engine().pause(call.caller, call.sandbox())));
}

Outcome resume(Call& call) {
  COVE_TRY(take_empty_body(call));
  return respond(call, COVE_TRY(call.engine().resume(call.caller, call.sandbox())));
}

Outcome renew(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  auto idle = COVE_TRY(fields.duration("idle"));
  auto max = COVE_TRY(fields.duration("max"));
  COVE_TRY(fields.finish());
  return respond(call, COVE_TRY(call.engine().renew(call.caller, call.sandbox(), idle, max)));
}

}  // namespace

void add_lifecycle(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/start", kRun, start);
  routes.add("POST", "/v1/sandboxes/{id}/stop", kRun, stop);
  routes.add("POST", "/v1/sandboxes/{id}/pause", kRun, pause);
  routes.add("POST", "/v1/sandboxes/{id}/resume", kRun, resume);
  routes.add("POST", "/v1/sandboxes/{id}/renew", kRun, renew);
}

}  // namespace cove::api
