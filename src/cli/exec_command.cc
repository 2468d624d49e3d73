#include "cli/exec_command.h"

#include "client/server.h"

namespace cove::cli {
namespace {

// Through the connection at hand first; then it may have to be a new server.
AttachSession::Connect connector(Api& api, const std::string& sandbox, const std::string& exec) {
  return [&api, sandbox, exec, first = true](uint64_t from) mutable -> Result<client::WebSocket> {
    if (std::exchange(first, false)) return api.attach(sandbox, exec, from);
    client::ServerChoice choice = COVE_TRY(client::find_server());
    choice.identity = api.http().identity();
    Api again(COVE_TRY(client::reach_server(choice, client::WhenAbsent::Start)));
    return again.attach(sandbox, exec, from);
  };
}

}  // namespace

Result<std::optional<Json>> attach_to(Api& api, Caller& caller, const std::string& sandbox, const std::string& exec,
                                      const AttachOrder& order) {
  return AttachSession(order, caller, connector(api, sandbox, exec), api.open_input(sandbox, exec)).run();
}

Result<Json> run_in_foreground(Api& api, Caller& caller, const ForegroundExec& exec) {
  return follow_to_end(api, caller, COVE_TRY(api.exec(exec.sandbox, exec.order)), exec.attach);
}

Result<Json> follow_to_end(Api& api, Caller& caller, const Json& started, const AttachOrder& order) {
  // A command that could not be started is a result at once.
  if (client::field(started, "status").is_string()) return started;
  std::string sandbox = client::text_of(started, "sandbox_id"), id = client::text_of(started, "id");
  std::optional<Json> result = COVE_TRY(attach_to(api, caller, sandbox, id, order));
  if (!result) return fail(Code::Unavailable, "the exec was left");
  return std::move(*result);
}

Json window_size_body() {
  WindowSize size = Caller::window_size();
  return {{"rows", size.rows}, {"cols", size.columns}};
}

}  // namespace cove::cli
