#include "base/text.h"
#include "cli/net_verbs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "net/rule.h"

namespace cove::cli {
namespace {

using client::field;
using client::text_of;

constexpr Option<CommonOrder> kOptions[] = {kProjectOption<CommonOrder>, kJsonOption<CommonOrder>,
                                            kHelpOption<CommonOrder>};
constexpr Form kShowForm = {
    .verb = "net show",
    .usage = "[OPTIONS] SANDBOX",
    .text =
        "Prints the network policy in force: the sandbox's own, and those of the server and the project, which narrow "
        "it.\n"
        "What any of them blocks is blocked; all that have a list must allow.",
    .least = 1,
    .most = 1,
};
constexpr Form kCheckForm = {
    .verb = "net check",
    .usage = "[OPTIONS] SANDBOX HOST[:PORT]",
    .text =
        "Says whether the sandbox may reach a host, and by which rule. The default port is 443. Exits with 0 if it may "
        "and\n"
        "with 1 if not.",
    .least = 2,
    .most = 2,
    .more = "Example:\n  cove net check box pypi.org:443",
};

std::string rules_of(const Json& policy, const char* list) {
  std::vector<std::string> rules;
  for (const Json& rule : field(policy, list))
    if (rule.is_string()) rules.push_back(printable(rule.get<std::string>()));
  return rules.empty() ? "-" : join(rules, ", ");
}

std::string limit(uint64_t value, const std::string& text) { return value == 0 ? "" : text; }

std::string heading_of(const Json& network) {
  std::string text = concat("tier ", printable(text_of(network, "tier")));
  if (!client::flag_of(network, "enabled")) text += ": no network";
  if (client::flag_of(network, "learn")) text += ", learning: what no list names is let through";
  const uint64_t bytes = client::count_of(field(network, "budget"), "bytes");
  const uint64_t connections = client::count_of(field(network, "budget"), "connections");
  text += limit(bytes, concat(", at most ", format_bytes(bytes)));
  return text + limit(connections, concat(", at most ", connections, " connections")) + "\n";
}

std::string text_of_network(const Json& network) {
  Table table({"POLICY", "TIER", "ALLOW", "BLOCK"});
  for (const Json& layer : field(network, "layers")) {
    const Json& policy = field(layer, "policy");
    table.add({printable(text_of(layer, "name")), printable(text_of(policy, "tier")), rules_of(policy, "allow"),
               rules_of(policy, "block")});
  }
  return heading_of(network) + table.text();
}

int show(const Arguments& args) {
  auto words = read_words<CommonOrder>(kShowForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  Result<Json> network = api->network(words->operands[0]);
  if (!network) return complain(network.error());
  bool printed = words->order.json ? print_json(*network) : print(text_of_network(*network));
  return printed ? 0 : kOwnFailure;
}

// A host and a port, as in a rule.
struct Destination {
  std::string host;
  std::string port;
};
Result<Destination> parse_destination(const std::string& text) {
  const net::Rule rule = COVE_TRY(net::parse_rule(text));
  const bool one = rule.kind == net::Rule::Kind::Name || (rule.kind == net::Rule::Kind::Network && rule.bits == 128);
  if (!one || rule.reads_requests() || rule.ports.size() > 1)
    return fail(Error(Code::Invalid, concat("'", text, "' is not a destination"))
                    .hint("name a host or an address, and a port if it is not 443: pypi.org:80"));
  const std::string host = rule.kind == net::Rule::Kind::Name ? rule.host : net::to_text(rule.network);
  return Destination{host, rule.ports.empty() ? "" : std::to_string(rule.ports[0])};
}

std::string text_of_check(const Json& answer) {
  const std::string what = concat(text_of(answer, "host"), ":", client::count_of(answer, "port"));
  const std::string rule = text_of(answer, "rule"), layer = text_of(answer, "layer"), why = text_of(answer, "why");
  std::string text = text_of(answer, "decision") == "needs_request" ? "allowed for some requests only: "
                     : client::flag_of(answer, "allowed")           ? "allowed: "
                                                                    : "denied: ";
  text += what;
  if (!why.empty()) return printable(concat("denied: ", why)) + "\n";
  if (!rule.empty()) text += concat(", by the rule '", rule, "'");
  return printable(concat(text, layer.empty() ? "" : concat(" of the ", layer))) + "\n";
}

int check(const Arguments& args) {
  auto words = read_words<CommonOrder>(kCheckForm, kOptions, args);
  if (!words) return words.error();
  auto destination = parse_destination(words->operands[1]);
  if (!destination) return complain(destination.error());
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  Result<Json> answer = api->check_network(words->operands[0], destination->host, destination->port);
  if (!answer) return complain(answer.error());
  bool printed = words->order.json ? print_json(*answer) : print(text_of_check(*answer));
  if (!printed) return kOwnFailure;
  return text_of(*answer, "decision") == "deny" ? 1 : 0;
}

}  // namespace

Verb net_show_verb() {
  return {"show",
          "show the policy in force",
          show,
          [] { return form_help(kShowForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

Verb net_check_verb() {
  return {"check",
          "say whether a host may be reached",
          check,
          [] { return form_help(kCheckForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
