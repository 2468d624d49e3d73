// Execs: start, list, look at, read, kill.
#include <poll.h>

#include "api/call.h"
#include "api/contexts.h"
#include "api/exec_request.h"
#include "api/output.h"
#include "api/query.h"
#include "api/response_json.h"
#include "base/text.h"

namespace cove::api {
namespace {

using live::OnDisconnect;
using Wake = http::Exchange::Wake;

constexpr std::chrono::minutes kPatience{1};
constexpr int kLastPatience = 3000;  // milliseconds, for an exec to end while the server stops

std::string location(const live::ExecInfo& exec) {
  return concat("/v1/sandboxes/", exec.sandbox_id, "/execs/", exec.id);
}

bool ends_soon(int end_fd) {
  pollfd polled = {.fd = end_fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, kLastPatience) > 0;
}

// The result when it has ended; kills it where the caller goes before that.
Outcome respond_at_end(Call& call, live::Exec& exec, OnDisconnect on_disconnect) {
  UniqueFd end = COVE_TRY(exec.end_fd());
  Wake wake = Wake::Timeout;
  while (wake == Wake::Timeout) wake = call.exchange.wait(end.get(), kPatience);
  if (wake == Wake::Gone) {
    if (on_disconnect == OnDisconnect::Kill) COVE_TRY(exec.kill());
    return {};
  }
  if (wake == Wake::Stopping && !ends_soon(end.get()))
    return refuse(Problem(503, "unavailable", "the server stops; the exec goes on")
                      .advise(concat("its result will be at ", location(exec.info()))));
  return call.respond(200, COVE_TRY(result_of(exec)));
}

Outcome create_exec(Call& call) {
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  Json body = COVE_TRY(call.body());
  if (names_context(body)) return run_in_context(call, body);
  ExecRequest request = COVE_TRY(parse_exec(body, wait ? SilentInput::Closed : SilentInput::Open));
  OnDisconnect usual = wait && !request.order.detached ? OnDisconnect::Kill : OnDisconnect::Keep;
  OnDisconnect on_disconnect = request.on_disconnect.value_or(usual);
  auto exec = COVE_TRY(call.engine().exec(call.caller, call.sandbox(), std::move(request.order)));
  if (wait) return respond_at_end(call, *exec, on_disconnect);
  if (accepts(call.request(), kEventStream)) {
    if (on_disconnect == OnDisconnect::Kill) call.api.attendance.expect(exec);
    return stream_output(call, *exec, 1);
  }
  if (on_disconnect == OnDisconnect::Kill) call.api.attendance.expect(exec);
  live::ExecInfo info = exec->info();
  return call.respond(201, exec_json(info), {{"Location", location(info)}});
}

Outcome list_execs(Call& call) {
  live::Engine::ExecFilter filter;
  filter.tag = text_parameter(call.request(), "tag");
  if (auto state = call.request().parameter("state")) {
    if (*state != "running" && *state != "ended") return invalid(concat("'state': there is no state '", *state, "'"));
    filter.state = *state == "running" ? live::ExecState::Running : live::ExecState::Ended;
  }
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  std::string after = text_parameter(call.request(), "after");
  auto page = COVE_TRY(call.engine().list_execs(call.caller, call.sandbox(), filter, after, limit));
  std::vector<std::string> items;
  for (const live::ExecInfo& exec : page.items) items.push_back(exec_json(exec));
  return call.respond(200, page_json("execs", items, page.next));
}

Checked<std::shared_ptr<live::Exec>> find(Call& call, Scope scope) {
  return COVE_TRY(call.engine().find_exec(call.caller, call.sandbox(), call.captured("exec"), scope));
}

Outcome get_exec(Call& call) { return call.respond(200, exec_json(COVE_TRY(find(call, Scope::Read))->info())); }

Outcome delete_exec(Call& call) {
  auto exec = COVE_TRY(find(call, Scope::Run));
  if (!exec->ended()) COVE_TRY(exec->kill());
  return call.respond(200, COVE_TRY(result_of(*exec)));
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
  routes.add("POST", "/v1/sandboxes/{id}/execs", kTokenRun, create_exec);
  routes.add("GET", "/v1/sandboxes/{id}/execs", kTokenRead, list_execs);
  routes.add("GET", "/v1/sandboxes/{id}/execs/{exec}", kTokenRead, get_exec);
  routes.add("DELETE", "/v1/sandboxes/{id}/execs/{exec}", kTokenRun, delete_exec);
  routes.add("GET", "/v1/sandboxes/{id}/execs/{exec}/output", kTokenRead, get_output);
}

}  // namespace cove::api
