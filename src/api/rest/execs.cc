// Execs: start, list, look at, read, kill.
#include "api/rest/call.h"
#include "api/rest/code_request.h"
#include "api/rest/exec_answer.h"
#include "api/rest/output.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/run_answer.h"
#include "engine/service/following.h"

namespace cove::api {
namespace {

Outcome run_code(Call& call, const Json& body) {
  CodeRequest request = COVE_TRY(read_code(call, body));
  return answer_run(call, request.form, RunStream::Opening::Plain, [&](auto& caller, auto* sink) {
    return call.service().context_runs().run(call.caller, call.sandbox(), std::move(request.order), caller, sink);
  });
}

Outcome create_exec(Call& call) {
  Json body = COVE_TRY(call.body());
  if (names_context(body)) return run_code(call, body);
  ExecWish wish = COVE_TRY(read_exec_wish(call, body));
  if (auto earlier = COVE_TRY(exec_made_before(call))) return answer_exec(call, earlier, wish);
  auto exec = COVE_TRY(call.engine().exec(call.caller, call.sandbox(), std::move(wish.order)));
  return answer_exec(call, exec, wish);
}

Outcome list_execs(Call& call) {
  engine::Engine::ExecFilter filter = COVE_TRY(exec_filter(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  std::string after = text_parameter(call.request(), "after");
  return call.respond(200,
                      exec_page(COVE_TRY(call.engine().list_execs(call.caller, call.sandbox(), filter, after, limit))));
}

Checked<std::shared_ptr<engine::Exec>> find(Call& call, Scope scope) {
  return COVE_TRY(call.engine().find_exec(call.caller, call.sandbox(), call.captured("exec"), scope));
}

Outcome get_exec(Call& call) { return call.respond(200, exec_json(COVE_TRY(find(call, Scope::Read))->info())); }

Outcome delete_exec(Call& call) {
  auto exec = COVE_TRY(find(call, Scope::Run));
  if (!exec->ended()) COVE_TRY(exec->kill());
  return call.respond(200, result_json(COVE_TRY(engine::result_of(*exec))));
}

Outcome get_output(Call& call) {
  auto from = static_cast<uint64_t>(COVE_TRY(integer_parameter(call.request(), "from", 1, INT64_MAX)).value_or(1));
  auto last = COVE_TRY(last_event_id(call.request()));
  auto exec = COVE_TRY(find(call, Scope::Read));
  if (!accepts(call.request(), kEventStream)) return give_output(call, *exec, from);
  return stream_output(call, *exec, last ? *last + 1 : from);
}

}  // namespace

void add_execs(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/execs", kTokenRun, create_exec, {"wait"}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/sandboxes/{id}/execs", kTokenRead, list_execs, {"after", "limit", "state", "tag"});
  routes.add("GET", "/v1/sandboxes/{id}/execs/{exec}", kTokenRead, get_exec);
  routes.add("DELETE", "/v1/sandboxes/{id}/execs/{exec}", kTokenRun, delete_exec);
  routes.add("GET", "/v1/sandboxes/{id}/execs/{exec}/output", kTokenRead, get_output, {"from"});
}

}  // namespace cove::api
