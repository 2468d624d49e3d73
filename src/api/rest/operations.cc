#include "api/rest/operations.h"

#include <algorithm>

#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"

namespace cove::api {
namespace {

using engine::OperationInfo;
using engine::OperationState;
using std::chrono::milliseconds;

constexpr milliseconds kTurn(200);  // between looks at whether the caller is still there
constexpr std::chrono::seconds kKeepAlive(15);

Problem problem_of(const engine::OperationError& error) {
  for (Code code : {Code::Invalid, Code::NotFound, Code::Exists, Code::Conflict, Code::Denied, Code::Unsupported,
                    Code::Exhausted, Code::Unavailable})
    if (code_name(code) == error.code) return Problem(Error(code, error.message).hint(error.hint));
  if (error.code == engine::kInterrupted) return Problem(503, error.code, error.message).advise(error.hint);
  return Problem(Error(Code::Internal, error.message).hint(error.hint));
}

Checked<std::string> result_of(const OperationInfo& operation) {
  if (operation.state == OperationState::Succeeded) return operation.result;
  if (operation.error) return refuse(problem_of(*operation.error));
  return refuse(409, "conflict", concat("the operation ", operation.id, " was cancelled"));
}

bool has_ended(const OperationInfo& operation) { return operation.state != OperationState::Running; }

Checked<OperationInfo> find(Call& call) {
  return COVE_TRY(call.engine().operations().find(call.caller.project, call.captured("operation")));
}

// One event for each change, with the whole state: whoever comes back needs only the last.
Outcome follow(Call& call, OperationInfo operation) {
  uint64_t seen = COVE_TRY(last_event_id(call.request())).value_or(0);
  EventStream stream(call.exchange);
  COVE_TRY(stream.begin());
  auto sent = std::chrono::steady_clock::now();
  while (true) {
    const bool ended = has_ended(operation);
    if (ended || operation.version != seen) {
      seen = operation.version;
      COVE_TRY(stream.send(sse_event(seen, ended ? "end" : "progress", dump(operation_json(operation)))));
      sent = std::chrono::steady_clock::now();
    }
    if (ended) break;
    if (call.exchange.wait(-1, milliseconds(0)) != http::Exchange::Wake::Timeout) return {};
    if (std::chrono::steady_clock::now() - sent >= kKeepAlive) {
      COVE_TRY(stream.send(": keep-alive\n\n"));
      sent = std::chrono::steady_clock::now();
    }
    operation = COVE_TRY(call.engine().operations().wait(call.caller.project, operation.id, seen, kTurn));
  }
  COVE_TRY(stream.end());
  return {};
}

Outcome get_operation(Call& call) {
  OperationInfo operation = COVE_TRY(find(call));
  if (accepts(call.request(), kEventStream)) return follow(call, std::move(operation));
  return call.respond(200, dump(operation_json(operation)));
}

Result<engine::Operations::Filter> read_filter(const http::Request& request) {
  engine::Operations::Filter filter;
  if (std::string state = text_parameter(request, "state"); !state.empty()) {
    filter.state = engine::parse_operation_state(state);
    if (!filter.state)
      return fail(Error(Code::Invalid, concat("'state': there is no state '", state, "'"))
                      .hint("the states are running, succeeded, failed and cancelled"));
  }
  filter.kind = text_parameter(request, "kind");
  if (!filter.kind.empty() &&
      std::ranges::find(engine::kOperationKinds, filter.kind) == std::end(engine::kOperationKinds))
    return fail(Error(Code::Invalid, concat("'kind': there are no operations of kind '", filter.kind, "'"))
                    .hint("the kinds are pull, load, import, prune, verify and record_workspace"));
  return filter;
}

Outcome list_operations(Call& call) {
  engine::Operations::Filter filter = COVE_TRY(read_filter(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  auto page = COVE_TRY(
      call.engine().operations().list(call.caller.project, filter, text_parameter(call.request(), "after"), limit));
  Json items = Json::array();
  for (const OperationInfo& operation : page.items) items.push_back(operation_json(operation));
  return call.respond(200, dump(Json{{"items", std::move(items)}, {"next", text_or_null(page.next)}}));
}

Outcome cancel_operation(Call& call) {
  OperationInfo operation =
      COVE_TRY(call.engine().operations().cancel(call.caller.project, call.captured("operation")));
  return call.respond(202, dump(operation_json(operation)));
}

}  // namespace

Json operation_json(const OperationInfo& operation) {
  const engine::OperationProgress& progress = operation.progress;
  Json details = Json::parse(progress.details).value_or(Json());
  Json layers = details.is_object() ? details.value("layers", Json::array()) : Json::array();
  return {{"id", operation.id},
          {"kind", operation.kind},
          {"target", operation.target},
          {"state", operation_state_name(operation.state)},
          {"progress",
           {{"done_bytes", progress.done_bytes},
            {"total_bytes", progress.total_bytes},
            {"message", text_or_null(progress.message)}}},
          {"layers", std::move(layers)},
          {"result", operation.result.empty() ? Json() : Json::parse(operation.result).value_or(Json())},
          {"error", operation.error ? Json::parse(to_json(problem_of(*operation.error))).value_or(Json()) : Json()},
          {"created_at", time_json(operation.created_ms)},
          {"updated_at", time_json(operation.updated_ms)},
          {"ended_at", time_json(operation.ended_ms)}};
}

Checked<std::optional<OperationInfo>> await_end(Call& call, const std::string& id) {
  using Wake = http::Exchange::Wake;
  uint64_t seen = 0;
  while (true) {
    OperationInfo operation = COVE_TRY(call.engine().operations().wait(call.caller.project, id, seen, kTurn));
    if (has_ended(operation)) return operation;
    seen = operation.version;
    Wake wake = call.exchange.wait(-1, milliseconds(0));
    if (wake == Wake::Gone) return std::nullopt;
    if (wake == Wake::Stopping)
      return refuse(Problem(503, "unavailable", "the server stops before the operation has ended")
                        .advise("repeat it: what was done already is not done again"));
  }
}

Outcome answer_outcome(Call& call, engine::OperationTask task, const Answer& answer) {
  OperationInfo started = COVE_TRY(call.engine().operations().start(std::move(task)));
  std::optional<OperationInfo> ended = COVE_TRY(await_end(call, started.id));
  if (!ended) return {};
  std::string result = COVE_TRY(result_of(*ended));
  if (answer.location.empty()) return call.respond(answer.status, result);
  std::string digest = Json::parse(result).value_or(Json::object()).value("digest", "");
  return call.respond(answer.status, result, {{"Location", concat(answer.location, digest)}});
}

Outcome answer_started(Call& call, engine::OperationTask task) {
  OperationInfo started = COVE_TRY(call.engine().operations().start(std::move(task)));
  return call.respond(202, dump(operation_json(started)), {{"Location", concat("/v1/operations/", started.id)}});
}

void add_operations(Routes& routes) {
  routes.add("GET", "/v1/operations", kRead, list_operations, {"after", "limit", "state", "kind"});
  routes.add("GET", "/v1/operations/{operation}", kRead, get_operation);
  routes.add("DELETE", "/v1/operations/{operation}", kManage, cancel_operation);
}

}  // namespace cove::api
