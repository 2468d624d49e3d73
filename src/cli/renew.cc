#include "cli/life_options.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct RenewOrder : CommonOrder {
  LifeOrder life;
};

constexpr Option<RenewOrder> kOptions[] = {
    {{"idle", '\0', "TIME", "expire after this time without use", kLife},
     [](RenewOrder& order, Text text) { return assign(order.life.idle, parse_life(text)); }},
    {{"max", '\0', "TIME", "expire this long from now, used or not", kLife},
     [](RenewOrder& order, Text text) { return assign(order.life.max, parse_life(text)); }},
    kProjectOption<RenewOrder>,
    kJsonOption<RenewOrder>,
    kHelpOption<RenewOrder>,
};

constexpr Form kForm = {
    .verb = "renew",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Extends the lifetime of sandboxes: restarts their timeouts, or sets the given ones.",
    .least = 1,
    .most = kMany,
};

int renew(const Arguments& args) {
  auto words = read_words<RenewOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Json body = life_body(words->order.life);
  return for_each_name(words->order, words->operands,
                       [&](Api& api, const std::string& sandbox) { return api.act(sandbox, "renew", body); });
}

}  // namespace

Verb renew_verb() {
  return {"renew",
          "extend the lifetime of sandboxes",
          renew,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
