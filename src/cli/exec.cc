#include "cli/exec_command.h"
#include "cli/exec_order.h"

namespace cove::cli {
namespace {

constexpr Form kForm = {
    .verb = "exec",
    .usage = "[OPTIONS] SANDBOX [--] COMMAND [ARGUMENTS]\n[OPTIONS] --lang LANGUAGE SANDBOX FILE|- [ARGUMENTS]",
    .text =
        "Runs a command in a sandbox. Exit code, streams and signals are passed on as if you had run it directly.\n"
        "With -t, Ctrl-P Ctrl-Q detaches and leaves it running.",
    .least = 2,
    .most = kMany,
    .operands = Operands::EndOptions,
    .more =
        "Exit codes: the command's own; 128+N after signal N; 124 after a timeout; 125 when Cove itself failed; 126\n"
        "when the command cannot be executed; 127 when it is not found.\n\n"
        "Examples:\n"
        "  cove exec box -- python3 -c 'print(6*7)'\n"
        "  cove exec --lang python box script.py       echo 'print(6*7)' | cove exec --lang python box -\n"
        "  cove exec -it box bash\n"
        "  cove exec -d --tag web box -- python3 -m http.server",
};

Result<Json> start_detached(const ExecOrder& order, const std::string& sandbox,
                            const std::vector<std::string>& command) {
  Json body = COVE_TRY(exec_body(order, command));
  Api api = COVE_TRY(open_server(order));
  return api.exec(sandbox, body);
}

Result<Json> run_attached(const ExecOrder& order, const std::string& sandbox, const std::vector<std::string>& command) {
  Json body = COVE_TRY(exec_body(order, command));
  Api api = COVE_TRY(open_server(order));
  Caller caller = COVE_TRY(Caller::create());
  ForegroundExec exec{sandbox, body, {}};
  exec.attach.terminal = exec.attach.detach_keys = order.terminal;
  exec.attach.input = forwards_input(order, command);
  if (order.json) exec.attach.show = AttachOrder::Show::Nothing;
  return run_in_foreground(api, caller, exec);
}

int exec(const Arguments& args) {
  auto words = read_words<ExecOrder>(kForm, exec_options(), args);
  if (!words) return words.error();
  const ExecOrder& order = words->order;
  auto command = command_of(words->operands);
  if (!command) return complain(command.error());
  if (order.detach) return finish_detached(order, start_detached(order, words->operands[0], *command));
  return finish_exec(order, words->operands[0], run_attached(order, words->operands[0], *command));
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
