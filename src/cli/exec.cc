#include "base/encoding.h"
#include "base/text.h"
#include "cli/exec_command.h"
#include "cli/exec_result.h"
#include "cli/run_values.h"
#include "cli/sandbox_options.h"
#include "cli/table.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct ExecOrder : CommonOrder {
  bool terminal = false;
  bool detach = false;
  Environment env;
  Environment file_environment;
  std::string cwd;
  std::string user;
  std::string tag;
  Limits limits;
};

constexpr Option<ExecOrder> kOptions[] = {
    {{"interactive", 'i', "", "forward standard input (this is always so)", kProgram},
     [](ExecOrder&, Text) -> Result<void> { return {}; }},
    {{"tty", 't', "", "give it a terminal", kProgram},
     [](ExecOrder& order, Text) -> Result<void> {
       order.terminal = true;
       return {};
     }},
    {{"detach", 'd', "", "leave it running; print the exec's id", kProgram},
     [](ExecOrder& order, Text) -> Result<void> {
       order.detach = true;
       return {};
     }},
    {{"env", 'e', "KEY[=VALUE]", "set a variable; without a value: take yours", kProgram},
     [](ExecOrder& order, Text text) { return add_variable(order.env, text); }},
    {{"env-file", '\0', "FILE", "set the variables in a file of KEY=VALUE lines", kProgram},
     [](ExecOrder& order, Text text) { return add_variables_of_file(order.file_environment, text); }},
    {{"workdir", 'w', "PATH", "the working folder inside", kProgram},
     [](ExecOrder& order, Text text) { return assign(order.cwd, parse_workdir(text)); }},
    {{"user", 'u', "USER", "name or UID[:GID] inside (default: the sandbox's)", kProgram},
     [](ExecOrder& order, Text text) { return assign(order.user, parse_user(text)); }},
    {{"tag", '\0', "TEXT", "a tag to find it by", kProgram},
     [](ExecOrder& order, Text text) -> Result<void> {
       order.tag = text;
       return {};
     }},
    {{"timeout", '\0', "TIME", "wall clock, like 30s or 5m (default: the sandbox's)", kLimits},
     [](ExecOrder& order, Text text) { return name_limit(order.limits.timeout, parse_duration(text)); }},
    {{"max-output", '\0', "SIZE", "of stdout and stderr, then it is killed", kLimits},
     [](ExecOrder& order, Text text) { return name_limit(order.limits.output, parse_bytes(text)); }},
    kProjectOption<ExecOrder>,
    {{"json", '\0', "", "print the result as JSON, with the output in it", "Other"},
     [](ExecOrder& order, Text) -> Result<void> {
       order.json = true;
       return {};
     }},
    kHelpOption<ExecOrder>,
};

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

Result<void> check_text(const std::vector<std::string>& command) {
  for (const std::string& word : command)
    if (!is_utf8(word))
      return fail(Error(Code::Invalid, concat("the argument '", printable(word), "' is not UTF-8"))
                      .hint("pass it on standard input"));
  return {};
}

Json body_of(const ExecOrder& order, const std::vector<std::string>& command) {
  Json body = {{"argv", command}};
  Environment env = order.file_environment;
  for (const auto& [name, value] : order.env) set_variable(env, name, value);
  for (const auto& [name, value] : env) body["env"][name] = value;
  if (!order.cwd.empty()) body["cwd"] = order.cwd;
  if (!order.user.empty()) body["user"] = order.user;
  if (!order.tag.empty()) body["tag"] = order.tag;
  if (order.limits.timeout.named) body["timeout"] = static_cast<double>(order.limits.timeout.value.count()) / 1000;
  if (order.limits.output.named) body["limits"]["output"] = order.limits.output.value;
  if (order.terminal) body["pty"] = window_size_body();
  if (order.detach) body["detach"] = true;
  if (order.detach && !order.terminal) body["stdin"] = nullptr;
  return body;
}

std::vector<std::string> command_of(const std::vector<std::string>& operands) {
  std::vector<std::string> command(operands.begin() + 1, operands.end());
  if (command.size() > 1 && command[0] == "--") command.erase(command.begin());
  return command;
}

int start_detached(const ExecOrder& order, const std::string& sandbox, const Json& body) {
  auto api = open_server(order);
  if (!api) return complain(api.error());
  Result<Json> started = api->exec(sandbox, body);
  if (!started) return complain(started.error());
  bool printed = order.json ? print_json(*started) : print(client::text_of(*started, "id") + "\n");
  return printed ? 0 : kOwnFailure;
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
  auto words = read_words<ExecOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const ExecOrder& order = words->order;
  std::vector<std::string> command = command_of(words->operands);
  if (auto checked = check_text(command); !checked) return complain(checked.error());
  Json body = body_of(order, command);
  if (order.detach) return start_detached(order, words->operands[0], body);
  Result<Json> result = run_attached(order, words->operands[0], body);
  if (!result) return complain(result.error());
  if (!order.json)
    explain(*result);
  else if (!print_json(*result))
    return kOwnFailure;
  return exit_code_of(*result);
}

}  // namespace

Verb exec_verb() {
  return {"exec",
          "run a command in a sandbox",
          exec,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxCommand};
}

}  // namespace cove::cli
