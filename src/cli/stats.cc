#include "cli/session.h"
#include "cli/usage_table.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {
    {{"no-stream", '\0', "", "print once (always enabled; cove top keeps updating)", "Options"},
     [](CommonOrder&, const std::string&) -> Result<void> { return {}; }},
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "stats",
    .usage = "[OPTIONS] [SANDBOX…]",
    .text = "Shows the resource usage and limits of the given sandboxes, or of all running ones.",
    .most = kMany,
};

Json json_of(const std::vector<UsageSample>& samples) {
  Json all = Json::array();
  for (const UsageSample& sample : samples) {
    Json one = {{"sandbox_id", client::text_of(sample.sandbox, "id")}, {"name", client::field(sample.sandbox, "name")}};
    for (auto& [name, value] : sample.stats.items()) one[name] = value;
    all.push_back(std::move(one));
  }
  return all;
}

int stats(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto samples = measure(*api, words->operands);
  if (!samples) return complain(samples.error());
  bool printed = words->order.json ? print_json(json_of(*samples)) : print(usage_table(*samples, nullptr));
  return printed ? 0 : kOwnFailure;
}

}  // namespace

Verb stats_verb() {
  return {"stats",
          "show resource usage",
          stats,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
