#include <unistd.h>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/code_body.h"
#include "cli/denials.h"
#include "cli/exec_result.h"
#include "cli/run_values.h"
#include "cli/sandbox_body.h"
#include "cli/session_order.h"
#include "cli/sizes.h"
#include "cli/table.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

SandboxSpec nothing_named() {
  SandboxSpec spec;
  spec.image.clear();
  return spec;
}

struct ExecuteOrder : CommonOrder {
  PlaceOrder place;
  std::string session;
  SandboxSpec sandbox = nothing_named();
  Environment file_environment;
  NetworkWords network;
  std::string language;
  std::string size;
  std::string cwd;
  bool input = false;
};
SandboxSpec& sandbox_of(ExecuteOrder& order) { return order.sandbox; }

constexpr auto kOptions = option_table<ExecuteOrder>(
    Option<ExecuteOrder>{{"session", '\0', "SESSION", "run it in this session", kSharing},
                         [](ExecuteOrder& order, Text text) -> Result<void> {
                           order.session = text;
                           return {};
                         }},
    kAgentOption<ExecuteOrder>,
    Option<ExecuteOrder>{
        {"scope", '\0', "SCOPE",
         "who shares the sandbox: agent (default with --agent),\nshared, or session: only this call (default without)",
         kSharing},
        [](ExecuteOrder& order, Text text) { return assign(order.place.scope, parse_scope(text)); }},
    kModeOption<ExecuteOrder>,
    Option<ExecuteOrder>{
        {"lang", '\0', "LANGUAGE", "run a file of code: python, node@22, c…; `cove languages`\nlists them", kProgram,
         languages_of_table},
        [](ExecuteOrder& order, Text text) { return assign(order.language, parse_language_name(text)); }},
    Option<ExecuteOrder>{{"interactive", 'i', "", "read all of standard input and send it along", kProgram},
                         [](ExecuteOrder& order, Text) -> Result<void> {
                           order.input = true;
                           return {};
                         }},
    kEnvOption<ExecuteOrder>, kEnvFileOption<ExecuteOrder>, kSecretOption<ExecuteOrder>,
    Option<ExecuteOrder>{{"workdir", 'w', "PATH", "working folder inside", kProgram},
                         [](ExecuteOrder& order, Text text) { return assign(order.cwd, parse_workdir(text)); }},
    kImageOption<ExecuteOrder>, kPlaceWorkspaceOption<ExecuteOrder>, kNetworkOptions<ExecuteOrder>,
    kRuntimeOption<ExecuteOrder>, kLimitOptions<ExecuteOrder>, kSizeOption<ExecuteOrder>, kProjectOption<ExecuteOrder>,
    Option<ExecuteOrder>{
        {"json", '\0', "", "print the result as JSON, including the output and the files\nit created", "Other"},
        [](ExecuteOrder& order, Text) -> Result<void> {
          order.json = true;
          return {};
        }},
    kHelpOption<ExecuteOrder>);

constexpr Form kForm = {
    .verb = "execute",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENTS]\n[OPTIONS] --lang LANGUAGE FILE|- [ARGUMENTS]",
    .text =
        "Runs a command or a file of code through the server, in one call: in a sandbox of its own, or in that of a\n"
        "session, of an agent or of everyone. Prints the output when the command has ended, and exits with its code.",
    .least = 1,
    .most = kMany,
    .operands = Operands::EndOptions,
    .more =
        "Examples:\n"
        "  echo 'print(6*7)' | cove execute --lang python -\n"
        "  cove execute --agent researcher -- sh -c 'echo kept > note'\n"
        "  cove execute --mode selective --workspace . --json -- ls -l",
};

Result<void> add_input(Json& body) {
  std::string input = COVE_TRY(read_text(STDIN_FILENO, "standard input"));
  if (is_utf8(input))
    body["stdin"] = std::move(input);
  else
    body["stdin"] = {{"base64", to_base64(input)}};
  return {};
}

Result<Json> body_of(const ExecuteOrder& order, std::vector<std::string> words) {
  Json body = Json::object();
  if (!words.empty() && words[0] == "--") words.erase(words.begin());
  if (words.empty())
    return fail(Error(Code::Invalid, "no command to run").hint("write it after the options: cove execute -- COMMAND…"));
  if (!order.language.empty()) {
    if (words[0] == "-" && order.input)
      return fail(Code::Invalid, "standard input is the code and cannot be the program's input too (-i)");
    COVE_TRY(add_code(body, order.language, words));
  } else {
    COVE_TRY(check_arguments(words));
    body["argv"] = words;
  }
  if (order.input) COVE_TRY(add_input(body));
  if (!order.session.empty()) body["session"] = order.session;
  add_place(body, order.place, order.sandbox);
  Environment env = order.file_environment;
  for (const auto& [name, value] : order.sandbox.env) set_variable(env, name, value);
  if (!env.empty()) body["env"] = environment_body(env);
  if (!order.cwd.empty()) body["cwd"] = order.cwd;
  // Files are shown in the JSON only.
  if (!order.json) body["outputs"] = Json::array();
  return body;
}

Result<Json> execute_there(const ExecuteOrder& order, const std::vector<std::string>& words) {
  Json body = COVE_TRY(body_of(order, words));
  Api api = COVE_TRY(open_server(order));
  return api.execute(body);
}

Result<void> show_stream(const Json& stream, int fd) { return sys::write_all(fd, COVE_TRY(client::bytes_of(stream))); }

// `kept`: the sandbox is there for another call.
Result<void> show(const Json& result, bool kept) {
  COVE_TRY(show_stream(client::field(result, "stdout"), STDOUT_FILENO));
  COVE_TRY(show_stream(client::field(result, "stderr"), STDERR_FILENO));
  for (const char* stream : {"stdout", "stderr"})
    if (const Json& each = client::field(result, stream); client::field(each, "truncated").get<bool>())
      tell(concat(stream, ": the middle is left out of ", format_bytes(client::count_of(each, "bytes")),
                  "; cove run and cove session exec print all of it"));
  explain(result);
  tell_denials(result, kept ? client::text_of(result, "sandbox_id") : "");
  return {};
}

int execute(const Arguments& args) {
  auto words = read_words<ExecuteOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> result = execute_there(words->order, words->operands);
  if (!result) return complain(result.error());
  tell_note(*result);
  if (words->order.json && !print_json(*result)) return kOwnFailure;
  const ExecuteOrder& order = words->order;
  const bool kept = !order.session.empty() || !order.place.agent.empty() || !order.place.scope.empty();
  if (!order.json)
    if (auto shown = show(*result, kept); !shown) return complain(shown.error());
  return exit_code_of(*result);
}

}  // namespace

Verb execute_verb() {
  return {"execute",
          "run a command or code through the server, in one call",
          execute,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Command};
}

}  // namespace cove::cli
