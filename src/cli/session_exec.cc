#include <unistd.h>

#include "cli/exec_command.h"
#include "cli/exec_order.h"
#include "cli/session_verbs.h"
#include "client/problem.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr Form kForm = {
    .verb = "session exec",
    .usage = "[OPTIONS] SESSION [--] COMMAND [ARGUMENTS]\n[OPTIONS] --lang LANGUAGE SESSION FILE|- [ARGUMENTS]",
    .text =
        "Runs a command in the sandbox of a session. Exit code, streams and signals are passed on as if you had\n"
        "run it directly. In a session whose mode is not all, standard input is forwarded only with -i, because a\n"
        "command with input is not plainly harmless.",
    .least = 2,
    .most = kMany,
    .operands = Operands::EndOptions,
    .more =
        "Exit codes: the command's own; 128+N after signal N; 124 after a timeout; 125 when Cove itself failed; 126\n"
        "when the command cannot be executed; 127 when it is not found.\n\n"
        "Examples:\n"
        "  S=$(cove session start --workspace .:rw)\n"
        "  cove session exec $S -- python3 -m pytest\n"
        "  cove session exec -it $S bash",
};

Result<void> show(const client::ServerEvent& event, const ExecOrder& order) {
  if (order.json) return {};
  std::string data = COVE_TRY(client::bytes_of(COVE_TRY(client::parse_json(event.data))));
  return sys::write_all(event.event == "stderr" ? STDERR_FILENO : STDOUT_FILENO, data);
}

// A command that may run outside a sandbox has no exec to attach to: its output is the response.
Result<Json> run_streamed(Api& api, const std::string& session, Json body, const ExecOrder& order) {
  body["stdin"] = nullptr;
  body["on_disconnect"] = "kill";
  client::EventStream stream = COVE_TRY(api.follow_session_exec(session, body));
  while (std::optional<client::ServerEvent> event = COVE_TRY(stream.next())) {
    if (event->event == "exit") return client::field(COVE_TRY(client::parse_json(event->data)), "result");
    if (event->event == "error") return fail(client::read_problem(COVE_TRY(client::parse_json(event->data)), 500));
    if (event->event == "stdout" || event->event == "stderr") COVE_TRY(show(*event, order));
  }
  return fail(Code::Unavailable, "the server closed the connection");
}

Result<Json> run_attached(Api& api, const std::string& session, const Json& body, const ExecOrder& order) {
  Caller caller = COVE_TRY(Caller::create());
  AttachOrder attach;
  attach.terminal = attach.detach_keys = order.terminal;
  attach.input = !body.contains("stdin");
  if (order.json) attach.show = AttachOrder::Show::Nothing;
  return follow_to_end(api, caller, COVE_TRY(api.session_exec(session, body)), attach);
}

Result<Json> run_in_session(Api& api, const std::string& session, const Json& body, const ExecOrder& order) {
  bool may_be_host = client::text_of(COVE_TRY(api.session(session)), "mode") != "all";
  if (may_be_host && !order.terminal && !order.input) return run_streamed(api, session, body, order);
  return run_attached(api, session, body, order);
}

int exec(const Arguments& args) {
  auto words = read_words<ExecOrder>(kForm, exec_options(), args);
  if (!words) return words.error();
  const ExecOrder& order = words->order;
  auto command = command_of(words->operands);
  if (!command) return complain(command.error());
  auto api = open_server(order);
  if (!api) return complain(api.error());
  auto body = exec_body(order, *command);
  if (!body) return complain(body.error());
  if (order.detach) return finish_detached(order, api->session_exec(words->operands[0], *body));
  Result<Json> result = run_in_session(*api, words->operands[0], *body, order);
  return finish_exec(order, result ? client::text_of(*result, "sandbox_id") : "", result);
}

}  // namespace

Verb session_exec_verb() {
  return {"exec",
          "run a command in a session",
          exec,
          [] { return form_help(kForm, option_infos(exec_options())); },
          [] { return option_infos(exec_options()); },
          Completes::SessionCommand};
}

}  // namespace cove::cli
