#include "base/encoding.h"
#include "base/text.h"
#include "cli/sandbox_options.h"
#include "cli/secret_value.h"
#include "cli/session.h"
#include "cli/session_order.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/warn_once.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

struct SetOrder : CommonOrder {
  bool brokered = false;
  std::vector<std::string> hosts;
  std::string header;
  std::string agent;
  ValueSource source;
};

constexpr auto kUse = "How it is used";
constexpr auto kValue = "The value (default: asked for, or standard input)";

Result<void> set_header(SetOrder& order, const std::string& header) {
  if (!order.header.empty() && order.header != header)
    return fail(Error(Code::Invalid, "a secret is put in one place").hint("write --header NAME or --query, once"));
  order.header = header;
  return {};
}

template <typename T>
constexpr Option<T> kSecretAgentOption = {{"agent", '\0', "NAME", "of this agent (default: of the project)", "Options"},
                                          [](T& order, Text text) { return assign(order.agent, parse_agent(text)); }};

constexpr auto kSetOptions = option_table<SetOrder>(
    Option<SetOrder>{{"brokered", '\0', "",
                      "never put the value into a sandbox: it has a placeholder,\nwhich Cove replaces in requests to "
                      "the hosts",
                      kUse},
                     [](SetOrder& order, Text) -> Result<void> {
                       order.brokered = true;
                       return {};
                     }},
    Option<SetOrder>{
        {"host", '\0', "HOST", "a host that gets it: api.github.com, *.example.org,\nhost:8443; can be repeated", kUse},
        [](SetOrder& order, Text text) -> Result<void> {
          order.hosts.push_back(text);
          return {};
        }},
    Option<SetOrder>{{"header", '\0', "NAME", "the only header that it is put into (default: the usual\nones)", kUse},
                     [](SetOrder& order, Text text) { return set_header(order, text); }},
    Option<SetOrder>{{"query", '\0', "", "it is put into the query of the URL instead", kUse},
                     [](SetOrder& order, Text) { return set_header(order, "query"); }},
    kSecretAgentOption<SetOrder>,
    Option<SetOrder>{{"file", '\0', "FILE", "read it from a file", kValue},
                     [](SetOrder& order, Text text) -> Result<void> {
                       order.source.file = text;
                       return {};
                     }},
    Option<SetOrder>{{"command", '\0', "COMMAND", "use the output of a shell command", kValue},
                     [](SetOrder& order, Text text) -> Result<void> {
                       order.source.command = text;
                       return {};
                     }},
    kProjectOption<SetOrder>, kJsonOption<SetOrder>, kHelpOption<SetOrder>);

struct AgentOrder : CommonOrder {
  std::string agent;
};
constexpr Option<AgentOrder> kListOptions[] = {
    {{"agent", '\0', "NAME", "only those that sessions of this agent can use", "Options"},
     [](AgentOrder& order, Text text) { return assign(order.agent, parse_agent(text)); }},
    kProjectOption<AgentOrder>,
    kJsonOption<AgentOrder>,
    kHelpOption<AgentOrder>,
};
constexpr Option<AgentOrder> kRemoveOptions[] = {
    kSecretAgentOption<AgentOrder>,
    kProjectOption<AgentOrder>,
    kJsonOption<AgentOrder>,
    kHelpOption<AgentOrder>,
};
constexpr Option<CommonOrder> kOptions[] = {kProjectOption<CommonOrder>, kHelpOption<CommonOrder>};

constexpr Form kSetForm = {
    .verb = "secret set",
    .usage = "[OPTIONS] NAME",
    .text =
        "Sets a secret, or replaces its value. NAME is the variable that sandboxes get it in. The value is never an\n"
        "argument, which others could see: it is read from the terminal without being shown, or from standard input,\n"
        "a file or a command. One line end behind it is removed.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove secret set DATABASE_PASSWORD\n"
        "  cove secret set GITHUB_TOKEN --brokered --host api.github.com --host github.com --command 'gh auth token'\n"
        "  cove run --secret DATABASE_PASSWORD -- ./migrate",
};
constexpr Form kLsForm = {
    .verb = "secret list",
    .usage = "[OPTIONS]",
    .text = "Lists secrets. Values are never shown.",
};
constexpr Form kRmForm = {
    .verb = "secret rm",
    .usage = "[OPTIONS] NAME…",
    .text = "Removes secrets. Running programs keep the values that they have; placeholders stop working at once.",
    .least = 1,
    .most = kMany,
};
constexpr Form kRotateForm = {
    .verb = "secret rotate",
    .usage = "[OPTIONS]",
    .text = "Encrypts all secrets of the server with a new key. Needs the scope admin.",
};

Result<Json> set_secret(const SetOrder& order, const std::string& name) {
  std::string value = COVE_TRY(read_secret_value(order.source, name));
  if (!is_utf8(value))
    return fail(
        Error(Code::Invalid, concat("the value of ", name, " is not UTF-8 text")).hint("encode it, as with base64"));
  Json body = {{"name", name}, {"value", std::move(value)}};
  if (order.brokered) body["use"] = "brokered";
  if (!order.hosts.empty()) body["hosts"] = order.hosts;
  if (!order.header.empty()) body["header"] = order.header;
  if (!order.agent.empty()) body["scope"] = Json{{"agent", order.agent}};
  Api api = COVE_TRY(open_server(order));
  return api.set_secret(body);
}

int set(const Arguments& args) {
  auto words = read_words<SetOrder>(kSetForm, kSetOptions, args);
  if (!words) return words.error();
  Result<Json> secret = set_secret(words->order, words->operands[0]);
  if (!secret) return complain(secret.error());
  for (const Json& warning : client::field(*secret, "warnings"))
    if (warning.is_string()) tell(concat("warning: ", warning.get<std::string>()));
  if (words->order.json) return print_json(*secret) ? 0 : kOwnFailure;
  return 0;
}

std::string texts(const Json& list) {
  std::vector<std::string> all;
  for (const Json& each : list)
    if (each.is_string()) all.push_back(each.get<std::string>());
  return join(all, ", ");
}

std::string table_of(const std::vector<Json>& secrets) {
  Table table({"NAME", "USE", "HOSTS", "HEADER", "AGENT", "UPDATED"});
  const Time now = std::chrono::system_clock::now();
  for (const Json& secret : secrets)
    table.add({printable(text_of(secret, "name")), printable(text_of(secret, "use")),
               printable(texts(client::field(secret, "hosts"))), printable(text_of(secret, "header")),
               printable(text_of(secret, "agent")), age(text_of(secret, "updated_at"), now)});
  return table.text();
}

int list(const Arguments& args) {
  auto words = read_words<AgentOrder>(kLsForm, kListOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto secrets = api->secrets(words->order.agent);
  if (!secrets) return complain(secrets.error());
  return (words->order.json ? print_json(*secrets) : print(table_of(*secrets))) ? 0 : kOwnFailure;
}

int rm(const Arguments& args) {
  auto words = read_words<AgentOrder>(kRmForm, kRemoveOptions, args);
  if (!words) return words.error();
  const std::string agent = words->order.agent;
  return for_each_name(words->order, words->operands, [&](Api& api, const std::string& name) -> Result<Json> {
    COVE_TRY(api.remove_secret(name, agent));
    return Json();
  });
}

int rotate(const Arguments& args) {
  auto words = read_words<CommonOrder>(kRotateForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  if (auto rotated = api->rotate_secrets(); !rotated) return complain(rotated.error());
  return 0;
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {
      {"set", "set a secret, or replace its value", set, [] { return form_help(kSetForm, option_infos(kSetOptions)); },
       [] { return option_infos(kSetOptions); }},
      {"list", "list secrets", list, [] { return form_help(kLsForm, option_infos(kListOptions)); },
       [] { return option_infos(kListOptions); }},
      {"rm", "remove secrets", rm, [] { return form_help(kRmForm, option_infos(kRemoveOptions)); },
       [] { return option_infos(kRemoveOptions); }},
      {"rotate", "encrypt all secrets with a new key", rotate,
       [] { return form_help(kRotateForm, option_infos(kOptions)); }, [] { return option_infos(kOptions); }},
  };
  return kParts;
}

std::string secret_help() {
  return parts_help(
      secret_verb(),
      "Manages secrets, which sandboxes get with --secret NAME. The server encrypts them, and no command shows their\n"
      "values again. They are masked in output; brokered ones never enter a sandbox.");
}

}  // namespace

Verb secret_verb() {
  return {"secret",
          "set, list and remove secrets for sandboxes",
          [](const Arguments& args) { return act_on_part(secret_verb(), args); },
          secret_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
