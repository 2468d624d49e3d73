#include "base/text.h"
#include "cli/denials.h"
#include "cli/exec_result.h"
#include "cli/net_verbs.h"
#include "cli/run_order.h"
#include "cli/run_remote.h"
#include "cli/table.h"
#include "cli/warn_once.h"
#include "run/maxima.h"

namespace cove::cli {
namespace {

std::string help() {
  return "Usage: cove net learn [OPTIONS] [--] COMMAND [ARGUMENTS]\n\n"
         "Runs a command as `cove run` does, in a fresh sandbox that may reach everything but private addresses and "
         "what is\n"
         "blocked. Then it prints, on standard error, the rules that the command would have needed, with groups where "
         "they\n"
         "fit. The options are those of cove run. This needs the scope approve, or the setting network.learn.\n" +
         options_help(option_infos(run_options())) +
         "\nExample:\n"
         "  cove net learn --workspace .:rw -- npm ci\n";
}

std::vector<std::string> rules_of(const Json& learned) {
  std::vector<std::string> rules;
  for (const Json& rule : client::field(learned, "rules"))
    if (rule.is_string()) rules.push_back(printable(rule.get<std::string>()));
  return rules;
}

void tell_rules(Api& api, const std::string& sandbox) {
  Result<Json> learned = api.learned_rules(sandbox);
  if (!learned) return tell(concat("the rules are not known: ", learned.error().message()));
  const std::vector<std::string> rules = rules_of(*learned);
  if (rules.empty()) return tell("learned: it needs no more rules");
  std::string text = "learned: it needs these rules";
  for (const std::string& rule : rules)
    text += concat("\n  --allow ", rule.contains(' ') ? concat("'", rule, "'") : rule);
  tell(text);
}

Result<Json> run(const RunOrder& order) {
  if (order.route == Route::Direct)
    return fail(Error(Code::Unsupported, "without a server, a sandbox has no network").hint("leave out --direct"));
  if (order.code_from_stdin || order.request.exec.pty)
    return fail(Error(Code::Invalid, "code on standard input and a terminal are not supported here")
                    .hint("name a file or a command"));
  Api api = COVE_TRY(connect_server(client::WhenAbsent::Start));
  Json network = {{"learn", true}};
  if (!has_network(order.request.sandbox.network)) network["tier"] = tier_name(NetworkTier::Standard);
  return run_and_look(api, order.request, network, [](const std::string& line) { tell(line); }, tell_rules);
}

int learn(const Arguments& args) {
  auto order = parse_run(args, machine_maxima);
  if (!order) return complain(order.error());
  if (order->help) return print(help()) ? 0 : kOwnFailure;
  Result<Json> result = run(*order);
  if (!result) return complain(result.error());
  if (order->output == Output::AsJson && !print_json(*result)) return kOwnFailure;
  if (order->output == Output::Plain) explain(*result), tell_denials(*result, {});
  return exit_code_of(*result);
}

}  // namespace

Verb net_learn_verb() {
  return {"learn", "run a command and print the rules it needs", learn,
          help,    [] { return option_infos(run_options()); },   Completes::Command};
}

}  // namespace cove::cli
