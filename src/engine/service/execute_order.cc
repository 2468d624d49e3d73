#include "engine/service/execute_order.h"

#include "engine/session/sessions.h"

namespace cove::engine {

Circumstances circumstances_of(const ExecuteOrder& order, const SessionInfo* session, const Caller& caller,
                               const Config& config) {
  const SandboxSpec& place = session ? session->order.sandbox : order.place.sandbox;
  const Mode of_session = session ? session->order.mode : Mode::All;
  const Mode mode = order.mode.value_or(of_session);
  const ExecOrder exec = session ? order_in_session(*session, order.order) : order.order;
  return {.mode = session ? stricter(mode, of_session) : mode,
          .local = caller.local,
          .waited_for = true,
          .off_allowed = config.modes.allow_off,
          .workspace = place.workspace.access != Access::None,
          .review = place.workspace.access == Access::Review,
          .read_only = place.workspace.access == Access::ReadOnly,
          .variables = !exec.spec.env.empty(),
          .code = !exec.language.empty(),
          .input = exec.spec.input,
          .terminal = exec.spec.pty.has_value(),
          .user = !exec.spec.user.empty() || (order.passing && !place.user.empty()),
          .image = order.command || names_image(place, config.runtime),
          .files = !order.files.empty() || (order.outputs && !order.outputs->empty()),
          .secrets = !place.secrets.empty() || !exec.secrets.empty(),
          .limits = names_limit(place.limits)};
}

Circumstances circumstances_of(const ExecOrder& order, const SessionInfo& session, WaitedFor waited_for,
                               const Caller& caller, const Config& config) {
  ExecuteOrder alone;
  alone.order = order;
  alone.outputs.emplace();  // no files are brought out
  Circumstances circumstances = circumstances_of(alone, &session, caller, config);
  circumstances.waited_for = waited_for == WaitedFor::Yes;
  return circumstances;
}

}  // namespace cove::engine
