#include "api/rest/exec_answer.h"

#include <poll.h>

#include "api/rest/output.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "base/text.h"

namespace cove::api {
namespace {

using engine::OnDisconnect;
using Wake = http::Exchange::Wake;

constexpr std::chrono::minutes kPatience{1};
constexpr int kLastPatience = 3000;  // milliseconds, for an exec to end while the server stops

std::string location(const engine::ExecInfo& exec) {
  return concat("/v1/sandboxes/", exec.sandbox_id, "/execs/", exec.id);
}

bool ends_soon(int end_fd) {
  pollfd polled = {.fd = end_fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, kLastPatience) > 0;
}

}  // namespace

Checked<ExecWish> read_exec_wish(Call& call, const Json& body) {
  bool wait = COVE_TRY(flag_parameter(call.request(), "wait"));
  ExecRequest request =
      COVE_TRY(parse_exec(body, call.engine().config().languages, wait ? SilentInput::Closed : SilentInput::Open));
  OnDisconnect usual = wait && !request.order.detached ? OnDisconnect::Kill : OnDisconnect::Keep;
  ExecForm form = wait ? ExecForm::AtEnd : accepts(call.request(), kEventStream) ? ExecForm::Stream : ExecForm::AtOnce;
  return ExecWish{std::move(request.order), form, request.on_disconnect.value_or(usual)};
}

Checked<Waited> wait_for_end(Call& call, engine::Exec& exec, OnDisconnect on_disconnect) {
  UniqueFd end = COVE_TRY(exec.end_fd());
  Wake wake = Wake::Timeout;
  while (wake == Wake::Timeout) wake = call.exchange.wait(end.get(), kPatience);
  if (wake == Wake::Gone) {
    if (on_disconnect == OnDisconnect::Kill) COVE_TRY(exec.kill());
    return Waited::Left;
  }
  if (wake == Wake::Stopping && !ends_soon(end.get()))
    return refuse(Problem(503, "unavailable", "the server stops; the exec goes on")
                      .advise(concat("its result will be at ", location(exec.info()))));
  return Waited::Ended;
}

Outcome answer_exec(Call& call, const std::shared_ptr<engine::Exec>& exec, const ExecWish& wish) {
  if (wish.form == ExecForm::AtEnd) {
    if (COVE_TRY(wait_for_end(call, *exec, wish.on_disconnect)) == Waited::Left) return {};
    return call.respond(200, result_json(COVE_TRY(result_of(*exec))));
  }
  if (wish.on_disconnect == OnDisconnect::Kill) call.api.attendance.expect(exec);
  if (wish.form == ExecForm::Stream) return stream_output(call, *exec, 1);
  engine::ExecInfo info = exec->info();
  return call.respond(201, exec_json(info), {{"Location", location(info)}});
}

Checked<engine::Engine::ExecFilter> exec_filter(const http::Request& request) {
  engine::Engine::ExecFilter filter;
  filter.tag = text_parameter(request, "tag");
  auto state = request.parameter("state");
  if (!state) return filter;
  if (*state != "running" && *state != "ended") return invalid(concat("'state': there is no state '", *state, "'"));
  filter.state = *state == "running" ? engine::ExecState::Running : engine::ExecState::Ended;
  return filter;
}

std::string exec_page(const engine::Page<engine::ExecInfo>& page) {
  std::vector<std::string> items;
  for (const engine::ExecInfo& exec : page.items) items.push_back(exec_json(exec));
  return page_json("execs", items, page.next);
}

}  // namespace cove::api
