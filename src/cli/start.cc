#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "start",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Starts stopped sandboxes again, with the files that they had.",
    .least = 1,
    .most = kMany,
};

int start(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands,
                       [](Api& api, const std::string& sandbox) { return api.act(sandbox, "start"); });
}

}  // namespace

Verb start_verb() {
  return {"start",
          "start stopped sandboxes",
          start,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
