#include "cli/exec_command.h"
#include "cli/exec_order.h"

namespace cove::cli {
namespace {

constexpr Form kForm = {
    .verb = "exec",
    .usage = "[OPTIONS] SANDBOX [--] COMMAND [ARGUMENTS]",
    .text = "Runs a command in a sandbox. Exit code, streams and signals are as if you had run it directly.",
    .least = 2,
    .most = kMany,
    .operands = Operands::EndOptions,
    .more =
        "Exit codes: the command's own; 128+N after signal N; 124 after a time-out; 125 when Cove itself failed; 126\n"
        "when the command cannot be executed, 127 when it is not found.\n\n"
        "Examples:\n"
        "  cove exec box -- python3 -c 'print(6*7)'\n"
        "  cove exec -it box bash\n"
        "  cove exec -d --tag web box -- python3 -m http.server",
};

Result<Json> start_detached(const ExecOrder& order, const std::string& sandbox, const Json& body) {
  Api api = COVE_TRY(open_server(order));
  return api.exec(sandbox, body);
}

Result<Json> run_attached(const ExecOrder& order, const std::string& sandbox, const Json& body) {
  Api api = COVE_TRY(open_server(order));
  Caller caller = COVE_TRY(Caller::create());
  ForegroundExec exec{sandbox, body, {}};
  exec.attach.terminal = order.terminal;
  if (order.json) exec.attach.show = AttachOrder::Show::Nothing;
  return run_in_foreground(api, caller, exec);
}

int exec(const Arguments& args) {
  auto words = read_words<ExecOrder>(kForm, exec_options(), args);
  if (!words) return words.error();
  const ExecOrder& order = words->order;
  auto command = command_of(words->operands);
  if (!command) return complain(command.error());
  Json body = exec_body(order, *command);
  if (order.detach) return finish_detached(order, start_detached(order, words->operands[0], body));
  return finish_exec(order, run_attached(order, words->operands[0], body));
}

}  // namespace

Verb exec_verb() {
  return {"exec",
          "run a command in a sandbox",
          exec,
          [] { return form_help(kForm, option_infos(exec_options())); },
          [] { return option_infos(exec_options()); },
          Completes::SandboxCommand};
}

}  // namespace cove::cli
