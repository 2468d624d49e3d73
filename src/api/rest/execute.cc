// Everything in one call: a sandbox, files in, a command or code, files out.
#include "api/rest/call.h"
#include "api/rest/execute_request.h"
#include "api/rest/query.h"
#include "api/rest/run_answer.h"

namespace cove::api {
namespace {

Problem problem_of(const engine::ExecuteError& error) {
  return error.of == engine::ExecuteError::Of::Files ? file_problem(error.error) : Problem(error.error);
}

Outcome execute(Call& call) {
  Json body = COVE_TRY(call.body());
  const RunForm form = accepts(call.request(), kEventStream) ? RunForm::Stream : RunForm::Result;
  engine::ExecuteOrder order = COVE_TRY(parse_execute(body, call.engine().config(), form));
  using Ran = std::optional<engine::Ran>;
  return answer_run(call, form, RunStream::Opening::Start, [&](auto& caller, auto* sink) -> Checked<Ran> {
    auto ran = call.service().executions().execute(call.caller, std::move(order), caller, sink);
    return ran ? Checked<Ran>(std::move(*ran)) : refuse(problem_of(ran.error()));
  });
}

}  // namespace

void add_execute(Routes& routes) {
  routes.add("POST", "/v1/execute", kRun, execute, {}, Conditions::Refused, Repeat::Once);
}

}  // namespace cove::api
