#include "cli/exec_order.h"

#include "base/text.h"
#include "cli/code_body.h"
#include "cli/denials.h"
#include "cli/exec_command.h"
#include "cli/exec_result.h"
#include "cli/run_values.h"
#include "cli/sandbox_body.h"
#include "cli/sandbox_options.h"

namespace cove::cli {
namespace {

using Words = std::vector<std::string>;

Result<void> set_tier(ExecOrder& order, const std::string& text) {
  order.tier = COVE_TRY(parse_network_tier(text));
  if (*order.tier <= NetworkTier::Restricted) return {};
  return fail(Error(Code::Invalid, "a command has the network of its sandbox, or none")
                  .hint("change the sandbox's: cove net allow, cove update --network"));
}

constexpr auto kOptions = option_table<ExecOrder>(
    Option<ExecOrder>{{"lang", '\0', "LANGUAGE",
                       "run a FILE of code, or - for standard input: python,\nnode@22, c…; `cove languages` lists them",
                       kProgram, languages_of_table},
                      [](ExecOrder& order, Text text) { return assign(order.language, parse_language_name(text)); }},
    Option<ExecOrder>{{"interactive", 'i', "", "forward standard input (always enabled)", kProgram},
                      [](ExecOrder& order, Text) -> Result<void> {
                        order.input = true;
                        return {};
                      }},
    Option<ExecOrder>{{"tty", 't', "", "allocate a terminal", kProgram},
                      [](ExecOrder& order, Text) -> Result<void> {
                        order.terminal = true;
                        return {};
                      }},
    Option<ExecOrder>{{"detach", 'd', "", "run in the background and print the exec's id", kProgram},
                      [](ExecOrder& order, Text) -> Result<void> {
                        order.detach = true;
                        return {};
                      }},
    Option<ExecOrder>{{"env", 'e', "KEY[=VALUE]", "set a variable; without a value, pass on yours", kProgram},
                      [](ExecOrder& order, Text text) { return add_variable(order.env, text); }},
    Option<ExecOrder>{{"env-file", '\0', "FILE", "set variables from a file of KEY=VALUE lines", kProgram},
                      [](ExecOrder& order, Text text) { return add_variables_of_file(order.file_environment, text); }},
    kSecretOption<ExecOrder>,
    Option<ExecOrder>{{"workdir", 'w', "PATH", "working folder inside", kProgram},
                      [](ExecOrder& order, Text text) { return assign(order.cwd, parse_workdir(text)); }},
    Option<ExecOrder>{{"user", 'u', "USER", "name or UID[:GID] inside (default: the sandbox's)", kProgram},
                      [](ExecOrder& order, Text text) { return assign(order.user, parse_user(text)); }},
    Option<ExecOrder>{
        {"network", '\0', "none", "without the network that its sandbox has", kFences, [] { return Words{"none"}; }},
        [](ExecOrder& order, Text text) { return set_tier(order, text); }},
    Option<ExecOrder>{{"tag", '\0', "TEXT", "tag to find the exec by", kProgram},
                      [](ExecOrder& order, Text text) -> Result<void> {
                        order.tag = text;
                        return {};
                      }},
    kLimitOptions<ExecOrder, LimitChoice::OfExecs>, kProjectOption<ExecOrder>,
    Option<ExecOrder>{{"json", '\0', "", "print the result as JSON, including the output", "Other"},
                      [](ExecOrder& order, Text) -> Result<void> {
                        order.json = true;
                        return {};
                      }},
    kHelpOption<ExecOrder>);

int tell_detached(const Json& result) {
  tell(concat("detached; the command keeps running\n  hint: cove attach ", client::text_of(result, "sandbox_id"), " ",
              client::text_of(result, "exec_id"), " attaches to it again"));
  return 0;
}

}  // namespace

std::span<const Option<ExecOrder>> exec_options() { return kOptions; }

Result<std::vector<std::string>> command_of(const std::vector<std::string>& operands) {
  std::vector<std::string> command(operands.begin() + 1, operands.end());
  if (command.size() > 1 && command[0] == "--") command.erase(command.begin());
  COVE_TRY(check_arguments(command));
  return command;
}

bool forwards_input(const ExecOrder& order, const std::vector<std::string>& command) {
  return order.language.empty() || command[0] != "-";
}

Result<Json> exec_body(const ExecOrder& order, const std::vector<std::string>& command) {
  Json body = Json::object();
  if (order.language.empty())
    body["argv"] = command;
  else
    COVE_TRY(add_code(body, order.language, command));
  Environment env = order.file_environment;
  for (const auto& [name, value] : order.env) set_variable(env, name, value);
  for (const auto& [name, value] : env) body["env"][name] = value;
  if (!order.secrets.empty()) body["secrets"] = order.secrets;
  if (!order.cwd.empty()) body["cwd"] = order.cwd;
  if (!order.user.empty()) body["user"] = order.user;
  if (!order.tag.empty()) body["tag"] = order.tag;
  if (Json limits = limits_body(order.limits); !limits.empty()) body["limits"] = std::move(limits);
  if (order.tier) body["network"]["tier"] = tier_name(*order.tier);
  if (order.terminal) body["pty"] = window_size_body();
  if (order.detach) body["detach"] = true;
  if ((order.detach && !order.terminal) || !forwards_input(order, command)) body["stdin"] = nullptr;
  return body;
}

int finish_exec(const ExecOrder& order, const std::string& sandbox, const Result<Json>& result) {
  if (!result) return complain(result.error());
  if (client::flag_of(*result, "detached")) return tell_detached(*result);
  if (!order.json)
    tell_note(*result), explain(*result), tell_denials(*result, sandbox);
  else if (!print_json(*result))
    return kOwnFailure;
  return exit_code_of(*result);
}

int finish_detached(const ExecOrder& order, const Result<Json>& started) {
  if (!started) return complain(started.error());
  bool printed = order.json ? print_json(*started) : print(client::text_of(*started, "id") + "\n");
  return printed ? 0 : kOwnFailure;
}

}  // namespace cove::cli
