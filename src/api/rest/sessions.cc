// Sessions: start, list, look at, end, and run things in them.
#include "engine/session/sessions.h"

#include "api/rest/call.h"
#include "api/rest/code_request.h"
#include "api/rest/exec_answer.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/run_answer.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/session_request.h"
#include "base/text.h"

namespace cove::api {
namespace {

const std::string& session_of(const Call& call) { return call.captured("session"); }

Outcome start_session(Call& call) {
  Json body = COVE_TRY(call.body());
  engine::SessionOrder order = COVE_TRY(parse_session(body, call.engine().config()));
  engine::SessionInfo session = COVE_TRY(call.service().sessions().start(call.caller, std::move(order)));
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
  auto page = COVE_TRY(call.service().sessions().list(call.caller, filter, after, limit));
  std::vector<std::string> items;
  for (const engine::SessionInfo& session : page.items) items.push_back(dump(session_json(session)));
  return call.respond(200, page_json(items, page.next));
}

Outcome get_session(Call& call) {
  return call.respond(200, dump(session_json(COVE_TRY(call.service().sessions().find(call.caller, session_of(call))))));
}

Outcome update_session(Call& call) {
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  auto change = COVE_TRY(take_network_change(fields));
  COVE_TRY(fields.finish());
  return call.respond(200, dump(session_json(COVE_TRY(call.service().sessions().change_network(
                               call.caller, session_of(call), change.value_or(NetworkChange()))))));
}

Outcome end_session(Call& call) {
  COVE_TRY(call.service().sessions().end(call.caller, session_of(call)));
  return call.no_content();
}

Outcome run_code(Call& call, const Json& body) {
  CodeRequest request = COVE_TRY(read_code(call, body));
  return answer_run(call, request.form, RunStream::Opening::Plain, [&](auto& caller, auto* sink) {
    return call.service().context_runs().run_in_session(call.caller, session_of(call), std::move(request.order), caller,
                                                        sink);
  });
}

// Nothing, where it has begun in a sandbox: `exec` is it then.
using Begun = std::shared_ptr<engine::Exec>;
Result<std::optional<engine::Ran>> begin_exec(Call& call, const ExecWish& wish, engine::CallerPresence& caller,
                                              engine::RunSink* sink, Begun& exec) {
  using engine::WaitedFor;
  const WaitedFor waited_for = wish.form == ExecForm::AtOnce ? WaitedFor::No : WaitedFor::Yes;
  auto begun = COVE_TRY(
      call.service().executions().exec_in_session(call.caller, session_of(call), wish.order, waited_for, caller, sink));
  exec = std::move(begun.exec);
  return std::move(begun.ran);
}

Outcome create_exec(Call& call) {
  Json body = COVE_TRY(call.body());
  if (names_context(body)) return run_code(call, body);
  ExecWish wish = COVE_TRY(read_exec_wish(call, body));
  if (auto earlier = COVE_TRY(exec_made_before(call))) return answer_exec(call, earlier, wish);
  Begun exec;
  const RunForm form = wish.form == ExecForm::Stream ? RunForm::Stream : RunForm::Result;
  COVE_TRY(answer_run(call, form, RunStream::Opening::Plain,
                      [&](auto& caller, auto* sink) { return begin_exec(call, wish, caller, sink, exec); }));
  return exec ? answer_exec(call, exec, wish) : Outcome();
}

Outcome list_execs(Call& call) {
  engine::Engine::ExecFilter filter = COVE_TRY(exec_filter(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  std::string after = text_parameter(call.request(), "after");
  return call.respond(
      200,
      exec_page(COVE_TRY(call.service().sessions().list_execs(call.caller, session_of(call), filter, after, limit))));
}

}  // namespace

void add_sessions(Routes& routes) {
  routes.add("POST", "/v1/sessions", kRun, start_session, {}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/sessions", kRead, list_sessions, {"after", "limit", "agent", "scope", "state"});
  routes.add("GET", "/v1/sessions/{session}", kRead, get_session);
  routes.add("PATCH", "/v1/sessions/{session}", kRun, update_session);
  routes.add("DELETE", "/v1/sessions/{session}", kRun, end_session);
  routes.add("POST", "/v1/sessions/{session}/execs", kRun, create_exec, {"wait"}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/sessions/{session}/execs", kRead, list_execs, {"after", "limit", "state", "tag"});
}

}  // namespace cove::api
