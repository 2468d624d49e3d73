#include "cli/exec_command.h"

#include <unistd.h>

#include "client/server.h"

namespace cove::cli {
namespace {

constexpr const char* kSoon = "20ms";  // most commands have ended by then, and nobody need attach to them

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

bool is_all(const Json& stream) { return !client::field(stream, "truncated").get<bool>(); }

// Piece by piece, as it came.
Result<void> show_pieces(Api& api, const Json& result, Sink& out, Sink& err) {
  uint64_t from = 1;
  for (bool ended = false; !ended;) {
    Json portion =
        COVE_TRY(api.output(client::text_of(result, "sandbox_id"), client::text_of(result, "exec_id"), from));
    const Json& chunks = client::field(portion, "chunks");
    for (const Json& chunk : chunks)
      (client::text_of(chunk, "stream") == "stderr" ? err : out).add(COVE_TRY(client::bytes_of(chunk)));
    out.flush();
    err.flush();
    from = client::count_of(portion, "next");
    ended = chunks.empty();
  }
  return finish(out, err);
}

// What an exec that has ended wrote. Where it wrote to both, they may be the same terminal: in their order, then.
Result<void> show_output(Api& api, const Json& result) {
  const Json& out_stream = client::field(result, "stdout");
  const Json& err_stream = client::field(result, "stderr");
  if (!out_stream.is_object() || !err_stream.is_object()) return {};
  std::string out_data = COVE_TRY(client::bytes_of(out_stream));
  std::string err_data = COVE_TRY(client::bytes_of(err_stream));
  if (out_data.empty() && err_data.empty()) return {};
  Sink out(STDOUT_FILENO), err(STDERR_FILENO);
  bool whole = is_all(out_stream) && is_all(err_stream) && (out_data.empty() || err_data.empty());
  if (!whole) return show_pieces(api, result, out, err);
  out.add(out_data);
  err.add(err_data);
  return finish(out, err);
}

}  // namespace

Result<std::optional<Json>> attach_to(Api& api, Caller& caller, const std::string& sandbox, const std::string& exec,
                                      const AttachOrder& order) {
  return AttachSession(order, caller, connector(api, sandbox, exec), api.open_input(sandbox, exec)).run();
}

Result<Json> run_in_foreground(Api& api, Caller& caller, const ForegroundExec& exec) {
  std::string wait = exec.attach.terminal ? "" : kSoon;
  return follow_to_end(api, caller, COVE_TRY(api.exec(exec.sandbox, exec.order, wait, exec.deleted)), exec.attach);
}

Result<Json> follow_to_end(Api& api, Caller& caller, const Json& started, const AttachOrder& order) {
  // One that has ended already, or could not be started, is a result at once.
  if (client::field(started, "status").is_string()) {
    if (order.show == AttachOrder::Show::Output) COVE_TRY(show_output(api, started));
    return started;
  }
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
