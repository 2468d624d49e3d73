#include <algorithm>

#include "base/text.h"
#include "cli/net_verbs.h"
#include "cli/session.h"
#include "net/groups.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {kJsonOption<CommonOrder>, kHelpOption<CommonOrder>};
constexpr Form kForm = {
    .verb = "net groups",
    .usage = "[OPTIONS] [GROUP…]",
    .text =
        "Lists the named groups of hosts that rules can use, as in --allow @python. What is marked can store data or "
        "show\n"
        "it to others: a program that may reach it can send data out.",
    .most = kMany,
    .more = "Example:\n  cove net groups python github",
};

constexpr std::string_view kReceives = "  receives data";

Json json_of(const net::Group& group) {
  Json hosts = Json::array();
  for (const net::GroupHost& host : group.hosts)
    hosts.push_back({{"rule", host.rule}, {"receives_data", host.receives_data}});
  return {{"name", group.name}, {"title", group.title}, {"hosts", std::move(hosts)}, {"from_image", group.from_image}};
}

std::string text_of(const net::Group& group) {
  constexpr size_t kNames = 16, kHosts = 34;
  auto padded = [](std::string text, size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  std::string text =
      concat(padded(concat("@", std::string_view(group.name)), kNames), std::string_view(group.title), "\n");
  for (const net::GroupHost& host : group.hosts)
    text += host.receives_data ? concat("    ", padded(host.rule, kHosts), kReceives, "\n")
                               : concat("    ", std::string_view(host.rule), "\n");
  const std::string found = "(those that the image names)";
  if (group.from_image)
    text += concat("    ", group.image_receives_data ? concat(padded(found, kHosts), kReceives) : found, "\n");
  return text;
}

Result<std::vector<const net::Group*>> chosen(const std::vector<std::string>& names) {
  std::vector<const net::Group*> all;
  for (const std::string& name : names) {
    const net::Group* group = net::find_group(name.starts_with('@') ? name.substr(1) : name);
    if (!group)
      return fail(Error(Code::NotFound, concat("no such group: '", name, "'")).hint("`cove net groups` lists them"));
    all.push_back(group);
  }
  if (names.empty())
    for (const net::Group& group : net::groups()) all.push_back(&group);
  return all;
}

int groups(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto wanted = chosen(words->operands);
  if (!wanted) return complain(wanted.error());
  Json json = Json::array();
  std::string text;
  for (const net::Group* group : *wanted) json.push_back(json_of(*group)), text += text_of(*group);
  return (words->order.json ? print_json(json) : print(text)) ? 0 : kOwnFailure;
}

}  // namespace

Verb net_groups_verb() {
  return {"groups", "list the named groups of hosts", groups, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
