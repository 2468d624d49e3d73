#include "api/rest/exec_answer.h"

#include "api/rest/output.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/run_stream.h"
#include "base/text.h"
#include "engine/service/following.h"

namespace cove::api {
namespace {

using engine::OnDisconnect;

std::string location(const engine::ExecInfo& exec) {
  return concat("/v1/sandboxes/", exec.sandbox_id, "/execs/", exec.id);
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

namespace {

Outcome answer_at_end(Call& call, engine::Exec& exec, OnDisconnect on_disconnect) {
  ExchangeCaller caller(call.exchange);
  switch (COVE_TRY(engine::wait_for_end(exec, caller, on_disconnect))) {
    case engine::Waited::Left:
      return {};
    case engine::Waited::Stopping:
      return refuse(Problem(503, "unavailable", "the server stops; the exec goes on")
                        .advise(concat("its result will be at ", location(exec.info()))));
    case engine::Waited::Ended:
      break;
  }
  return call.respond(200, result_json(COVE_TRY(engine::result_of(exec))));
}

}  // namespace

Checked<std::shared_ptr<engine::Exec>> exec_made_before(Call& call) {
  if (!call.once || call.once->made_before().empty()) return std::shared_ptr<engine::Exec>();
  const ExecRecord record = COVE_TRY(call.engine().store().find_exec("", call.once->made_before()));
  return COVE_TRY(call.engine().find_exec(call.caller, record.sandbox_id, record.id, Scope::Run));
}

Outcome answer_exec(Call& call, const std::shared_ptr<engine::Exec>& exec, const ExecWish& wish) {
  if (call.once) COVE_TRY(call.once->note_made(exec->info().id));
  if (wish.form == ExecForm::AtEnd) return answer_at_end(call, *exec, wish.on_disconnect);
  if (wish.on_disconnect == OnDisconnect::Kill) call.service().attendance().expect(exec);
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
  return page_json(items, page.next);
}

}  // namespace cove::api
