#include "api/rest/session_request.h"

#include "api/rest/sandbox_request.h"
#include "api/rest/values.h"
#include "base/text.h"
#include "model/fields.h"

namespace cove::api {
namespace {

Result<void> take_idle(Fields& fields, engine::SessionOrder& order) {
  auto nested = COVE_TRY(fields.object("lifecycle"));
  if (!nested) return {};
  if (nested->is_null("idle"))
    order.idle = std::chrono::milliseconds(0);
  else if (auto idle = COVE_TRY(nested->duration("idle")))
    order.idle = *idle;
  return nested->finish();
}

}  // namespace

Result<std::optional<std::string>> take_agent(Fields& fields) {
  auto agent = COVE_TRY(fields.text("agent"));
  if (agent) COVE_TRY(fields.checked("agent", check_agent(*agent)));
  return agent;
}

Result<std::optional<engine::SessionScope>> take_scope(Fields& fields) {
  auto word = COVE_TRY(fields.choice("scope", {"session", "agent", "shared"}));
  if (!word) return std::nullopt;
  return engine::parse_session_scope(*word);
}

Result<std::optional<engine::Mode>> take_mode(Fields& fields) {
  auto word = COVE_TRY(fields.choice("mode", {"all", "selective", "off"}));
  if (!word) return std::nullopt;
  return engine::parse_mode(*word);
}

Result<void> check_scope(const engine::SessionOrder& order) {
  if (order.scope != engine::SessionScope::Agent || !order.agent.empty()) return {};
  return fail(Error(Code::Invalid, "the scope 'agent' needs an 'agent'")
                  .hint("name the agent whose sandbox it is")
                  .at("/agent"));
}

Result<void> take_sandbox(Fields& fields, engine::SessionOrder& order, const Config& config) {
  SandboxSpec& spec = order.sandbox;
  auto image = COVE_TRY(fields.text("image"));
  spec.image = image ? COVE_TRY(fields.checked("image", check_image(*image))) : "";
  spec.runtime = COVE_TRY(take_runtime(fields, config));
  order.runtime_named = fields.raw("runtime") != nullptr;
  spec.workspace = COVE_TRY(take_workspace(fields));
  spec.secrets = COVE_TRY(fields.texts("secrets")).value_or(spec.secrets);
  return take_network(fields, spec.network);
}

Result<engine::SessionOrder> parse_session(const Json& body, const Config& config) {
  Fields fields(body);
  engine::SessionOrder order;
  order.agent = COVE_TRY(take_agent(fields)).value_or("");
  order.scope = COVE_TRY(take_scope(fields)).value_or(engine::SessionScope::Session);
  order.mode = COVE_TRY(take_mode(fields)).value_or(engine::Mode::All);
  order.sandbox.limits = config.limits;
  order.sandbox.image.clear();
  order.sandbox.runtime = config.runtime;
  order.runtime_named = fields.raw("runtime") != nullptr;
  COVE_TRY(take_fields(fields, kSession, order.sandbox));
  COVE_TRY(take_idle(fields, order));
  COVE_TRY(fields.finish());
  COVE_TRY(check_scope(order));
  return order;
}

}  // namespace cove::api
