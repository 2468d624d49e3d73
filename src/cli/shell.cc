#include <unistd.h>

#include "cli/denials.h"
#include "cli/exec_command.h"
#include "cli/exec_result.h"
#include "cli/run_values.h"
#include "cli/sandbox_options.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct ShellOrder : CommonOrder {
  bool terminal = ::isatty(STDIN_FILENO) == 1;
  std::string cwd;
  std::string user;
};

constexpr Option<ShellOrder> kOptions[] = {
    {{"workdir", 'w', "PATH", "working folder inside", "Options"},
     [](ShellOrder& order, Text text) { return assign(order.cwd, parse_workdir(text)); }},
    {{"user", 'u', "USER", "name or UID[:GID] inside (default: the sandbox's)", "Options"},
     [](ShellOrder& order, Text text) { return assign(order.user, parse_user(text)); }},
    kProjectOption<ShellOrder>,
    kHelpOption<ShellOrder>,
};

constexpr Form kForm = {
    .verb = "shell",
    .usage = "[OPTIONS] SANDBOX",
    .text =
        "Opens a shell in a sandbox: $SHELL inside, otherwise bash, otherwise sh. It has a terminal of its own\n"
        "and ends when your terminal closes. If standard input is not a terminal, the shell reads commands from\n"
        "it.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove shell box\n"
        "  echo 'make test' | cove shell box",
};

// Looked up inside the sandbox, whose shells may differ from this machine's.
constexpr const char* kChooseShell =
    "for shell in \"$SHELL\" bash sh; do [ -n \"$shell\" ] && command -v \"$shell\" >/dev/null && exec \"$shell\" -l; "
    "done";

Json body_of(const ShellOrder& order) {
  Json body = {{"argv", {"sh", "-c", kChooseShell}}, {"on_disconnect", "kill"}};
  if (order.terminal) body["pty"] = window_size_body();
  if (!order.cwd.empty()) body["cwd"] = order.cwd;
  if (!order.user.empty()) body["user"] = order.user;
  return body;
}

Result<Json> run_shell(const ShellOrder& order, const std::string& sandbox) {
  Api api = COVE_TRY(open_server(order));
  Caller caller = COVE_TRY(Caller::create());
  ForegroundExec exec{sandbox, body_of(order), {}};
  exec.attach.terminal = order.terminal;
  return run_in_foreground(api, caller, exec);
}

int shell(const Arguments& args) {
  auto words = read_words<ShellOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> result = run_shell(words->order, words->operands[0]);
  if (!result) return complain(result.error());
  explain(*result);
  tell_denials(*result, words->operands[0]);
  return exit_code_of(*result);
}

}  // namespace

Verb shell_verb() {
  return {"shell",
          "open a shell in a sandbox",
          shell,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
