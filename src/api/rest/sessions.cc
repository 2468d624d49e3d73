// Sessions: start, list, look at, end, and run things in them.
#include "engine/session/sessions.h"

#include "api/rest/call.h"
#include "api/rest/context_code.h"
#include "api/rest/exec_answer.h"
#include "api/rest/host_answer.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/session_request.h"
#include "base/text.h"
#include "engine/session/placement.h"
#include "image/catalogue.h"

namespace cove::api {
namespace {

const std::string& session_of(const Call& call) { return call.captured("session"); }

Outcome start_session(Call& call) {
  Json body = COVE_TRY(call.body());
  engine::SessionOrder order = COVE_TRY(parse_session(body, call.engine().config()));
  if (order.mode == engine::Mode::Off) {
    COVE_TRY(engine::check_off(call.caller.local, call.engine().config().modes.allow_off));
    COVE_TRY(engine::check_off_access(order.sandbox.workspace.access == Access::ReadOnly));
  }
  const std::string& image = order.sandbox.image;
  if (!image.empty() && !is_host_image(image)) COVE_TRY(call.engine().images().find_reference(image));
  engine::SessionInfo session = COVE_TRY(call.api.sessions->start(call.caller, std::move(order)));
  return call.respond(201, dump(session_json(session)), {{"Location", concat("/v1/sessions/", session.id)}});
}

Checked<engine::SessionFilter> filter_of(const http::Request& request) {
  engine::SessionFilter filter;
  filter.agent = text_parameter(request, "agent");
  if (auto scope = request.parameter("scope")) {
    filter.scope = engine::parse_session_scope(std::string(*scope));
    if (!filter.scope) return invalid(concat("'scope': there is no scope '", *scope, "'"));
  }
  if (auto state = request.parameter("state")) {
    if (*state != "active" && *state != "ended") return invalid(concat("'state': there is no state '", *state, "'"));
    filter.state = *state == "active" ? engine::SessionState::Active : engine::SessionState::Ended;
  }
  return filter;
}

Outcome list_sessions(Call& call) {
  engine::SessionFilter filter = COVE_TRY(filter_of(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  std::string after = text_parameter(call.request(), "after");
  auto page = COVE_TRY(call.api.sessions->list(call.caller, filter, after, limit));
  std::vector<std::string> items;
  for (const engine::SessionInfo& session : page.items) items.push_back(dump(session_json(session)));
  return call.respond(200, page_json("sessions", items, page.next));
}

Outcome get_session(Call& call) {
  return call.respond(200, dump(session_json(COVE_TRY(call.api.sessions->find(call.caller, session_of(call))))));
}

Outcome end_session(Call& call) {
  COVE_TRY(call.api.sessions->end(call.caller, session_of(call)));
  return call.no_content();
}

engine::Circumstances circumstances_of(Call& call, const engine::SessionInfo& session, const ExecWish& wish) {
  return {.mode = session.order.mode,
          .local = call.caller.local,
          .waited_for = wish.form != ExecForm::AtOnce,
          .off_allowed = call.engine().config().modes.allow_off,
          .workspace = session.order.sandbox.workspace.access != Access::None,
          .review = session.order.sandbox.workspace.access == Access::Review,
          .read_only = session.order.sandbox.workspace.access == Access::ReadOnly,
          .variables = !session.order.sandbox.env.empty() || !wish.order.spec.env.empty(),
          .code = !wish.order.language.empty(),
          .input = wish.order.spec.input,
          .terminal = wish.order.spec.pty.has_value(),
          .user = !wish.order.spec.user.empty(),
          .image = engine::names_image(session.order.sandbox, call.engine().config().runtime),
          .files = false,
          .limits = engine::names_limit(session.order.sandbox.limits)};
}

Outcome run_code(Call& call, const Json& body) {
  CodeRequest request = COVE_TRY(read_code(call, body));
  engine::SessionInfo session = COVE_TRY(call.api.sessions->use(call.caller, session_of(call)));
  engine::Placement placement =
      COVE_TRY(engine::place(circumstances_of(call, session, {.order = request.order, .form = ExecForm::AtEnd})));
  std::string sandbox = COVE_TRY(call.api.sessions->sandbox_for(call.caller, session)).spec.id;
  return run_in_context(call, std::move(request), {sandbox, &session, placement.why});
}

Outcome create_exec(Call& call) {
  Json body = COVE_TRY(call.body());
  if (names_context(body)) return run_code(call, body);
  ExecWish wish = COVE_TRY(read_exec_wish(call, body));
  engine::SessionInfo session = COVE_TRY(call.api.sessions->use(call.caller, session_of(call)));
  engine::Placement placement = COVE_TRY(engine::place(circumstances_of(call, session, wish)));
  if (placement.where != engine::Where::Sandbox) {
    engine::HostExecs::Use use = COVE_TRY(call.api.sessions->on_host(call.caller, session));
    engine::ExecOrder order = engine::order_in_session(session, wish.order);
    HostWish host{order, session.order.sandbox.workspace, wish.form, placement};
    if (COVE_TRY(answer_on_host(call, host)) == HostAnswer::Given) return {};
    placement.why = host.placement.why;
  }
  wish.order.placed = placement.why;
  auto exec = COVE_TRY(call.api.sessions->exec(call.caller, session, wish.order));
  return answer_exec(call, exec, wish);
}

Outcome list_execs(Call& call) {
  engine::Engine::ExecFilter filter = COVE_TRY(exec_filter(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  std::string after = text_parameter(call.request(), "after");
  return call.respond(
      200, exec_page(COVE_TRY(call.api.sessions->list_execs(call.caller, session_of(call), filter, after, limit))));
}

}  // namespace

void add_sessions(Routes& routes) {
  routes.add("POST", "/v1/sessions", kRun, start_session);
  routes.add("GET", "/v1/sessions", kRead, list_sessions, {"after", "limit", "agent", "scope", "state"});
  routes.add("GET", "/v1/sessions/{session}", kRead, get_session);
  routes.add("DELETE", "/v1/sessions/{session}", kRun, end_session);
  routes.add("POST", "/v1/sessions/{session}/execs", kRun, create_exec, {"wait"});
  routes.add("GET", "/v1/sessions/{session}/execs", kRead, list_execs, {"after", "limit", "state", "tag"});
}

}  // namespace cove::api
