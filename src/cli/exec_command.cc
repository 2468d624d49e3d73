#include "cli/exec_command.h"

#include <utility>

#include "client/server.h"

namespace cove::cli {
namespace {

Result<std::unique_ptr<ExecLine>> attach(Api& api, const ExecName& name, uint64_t from) {
  return over_websocket(COVE_TRY(api.attach(name.sandbox, name.exec, from)));
}

// The server may have been replaced meanwhile.
Result<std::unique_ptr<ExecLine>> attach_again(const Api& api, const ExecName& name, uint64_t from) {
  client::ServerChoice choice = COVE_TRY(client::find_server());
  choice.identity = api.http().identity();
  Api again(COVE_TRY(client::reach_server(choice, client::WhenAbsent::Start)));
  return attach(again, name, from);
}

}  // namespace

Result<std::optional<Json>> attach_to(Api& api, Caller& caller, const std::string& sandbox, const std::string& exec,
                                      const AttachOrder& order) {
  auto connect = [&api, name = ExecName{sandbox, exec}, first = true](uint64_t from) mutable {
    return std::exchange(first, false) ? attach(api, name, from) : attach_again(api, name, from);
  };
  return AttachSession(order, caller, connect, api.open_input(sandbox, exec)).run();
}

Result<Json> run_in_foreground(Api& api, Caller& caller, const ForegroundExec& exec) {
  return follow_to_end(api, caller, COVE_TRY(api.exec(exec.sandbox, exec.order)), exec.attach);
}

Result<Json> follow_to_end(Api& api, Caller& caller, const Json& started, const AttachOrder& order) {
  std::string sandbox = client::text_of(started, "sandbox_id"), id = client::text_of(started, "id");
  std::optional<Json> result = COVE_TRY(attach_to(api, caller, sandbox, id, order));
  if (!result) return Json{{"detached", true}, {"sandbox_id", sandbox}, {"exec_id", id}};
  return std::move(*result);
}

Result<Executed> follow_to_end(Api& api, Caller& caller, client::EventStream events, const ExecName& name,
                               const AttachOrder& order) {
  Executed executed;
  std::unique_ptr<ExecLine> line = over_events(api, std::move(events), name);
  auto connect = [&](uint64_t from) -> Result<std::unique_ptr<ExecLine>> {
    if (line) return std::move(line);
    executed.left_by_server = true;
    return attach_again(api, name, from);
  };
  AttachSession session(order, caller, connect, api.open_input(name.sandbox, name.exec));
  std::optional<Json> result = COVE_TRY(session.run());
  if (!result) return fail(Code::Unavailable, "detached from the exec");
  executed.result = std::move(*result);
  return executed;
}

Json window_size_body() {
  WindowSize size = Caller::window_size();
  return {{"rows", size.rows}, {"cols", size.columns}};
}

}  // namespace cove::cli
