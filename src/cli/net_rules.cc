#include <algorithm>

#include "base/text.h"
#include "cli/net_verbs.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/table.h"

namespace cove::cli {
namespace {

struct RulesOrder : CommonOrder {
  bool remove = false;
};

constexpr Option<RulesOrder> kOptions[] = {
    {{"rm", '\0', "", "take these rules off the list again", "Options"},
     [](RulesOrder& order, const std::string&) -> Result<void> {
       order.remove = true;
       return {};
     }},
    kProjectOption<RulesOrder>,
    kJsonOption<RulesOrder>,
    kHelpOption<RulesOrder>,
};

constexpr Form kAllowForm = {
    .verb = "net allow",
    .usage = "[OPTIONS] SANDBOX RULE…",
    .text =
        "Lets a sandbox reach more hosts, from now on. A sandbox without a network gets the tier standard. This needs "
        "the\n"
        "scope approve where the caller has a key.",
    .least = 2,
    .most = kMany,
    .more =
        "Rules:\n"
        "  pypi.org               this name, at any port        db.example.org:5432    at this port\n"
        "  *.example.org          every subdomain, not itself   10.1.0.0/16  [fd00::]/8    addresses\n"
        "  @python                a group of hosts, see cove net groups\n"
        "  'GET api.example.org/repos/*'    only these requests, where the traffic is readable\n\n"
        "Examples:\n"
        "  cove net allow box @node api.example.org\n"
        "  cove net allow --rm box api.example.org",
};
constexpr Form kBlockForm = {
    .verb = "net block",
    .usage = "[OPTIONS] SANDBOX RULE…",
    .text =
        "Blocks hosts for a sandbox, whatever else allows them. Open connections to them are cut. The rules are those "
        "of\n"
        "cove net allow.",
    .least = 2,
    .most = kMany,
    .more = "Example:\n  cove net block box gist.github.com",
};

Result<std::vector<std::string>> rules_of(const std::vector<std::string>& operands) {
  std::vector<std::string> rules;
  for (size_t i = 1; i < operands.size(); ++i)
    for (std::string& rule : COVE_TRY(parse_rules(operands[i]))) rules.push_back(std::move(rule));
  return rules;
}

Result<Json> changed_list(const Json& now, const std::vector<std::string>& rules, const RulesOrder& order) {
  std::vector<std::string> list;
  for (const Json& rule : now)
    if (rule.is_string()) list.push_back(rule.get<std::string>());
  for (const std::string& rule : rules) {
    const auto found = std::ranges::find(list, rule);
    if (order.remove && found == list.end())
      return fail(Error(Code::NotFound, concat("the list has no rule '", rule, "'")).hint("see cove net show"));
    if (order.remove) list.erase(found);
    if (!order.remove && found == list.end()) list.push_back(rule);
  }
  return Json(list);
}

Result<Json> change(const RulesOrder& order, const std::vector<std::string>& operands, const char* list) {
  const std::vector<std::string> rules = COVE_TRY(rules_of(operands));
  Api api = COVE_TRY(open_server(order));
  const Json sandbox = COVE_TRY(api.sandbox(operands[0]));
  const Json& now = client::field(client::field(sandbox, "network"), list);
  return api.update(operands[0], {{"network", {{list, COVE_TRY(changed_list(now, rules, order))}}}});
}

int change_list(const Form& form, const Arguments& args, const char* list) {
  auto words = read_words<RulesOrder>(form, kOptions, args);
  if (!words) return words.error();
  Result<Json> sandbox = change(words->order, words->operands, list);
  if (!sandbox) return complain(sandbox.error());
  if (words->order.json && !print_json(client::field(*sandbox, "network"))) return kOwnFailure;
  return 0;
}

int allow(const Arguments& args) { return change_list(kAllowForm, args, "allow"); }
int block(const Arguments& args) { return change_list(kBlockForm, args, "block"); }

}  // namespace

Verb net_allow_verb() {
  return {"allow",
          "let a sandbox reach more hosts",
          allow,
          [] { return form_help(kAllowForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

Verb net_block_verb() {
  return {"block",
          "block hosts for a sandbox",
          block,
          [] { return form_help(kBlockForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
