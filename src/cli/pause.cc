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
    .verb = "pause",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Pauses sandboxes: their processes are frozen, and their memory is kept.",
    .least = 1,
    .most = kMany,
};

int pause(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands,
                       [](Api& api, const std::string& sandbox) { return api.act(sandbox, "pause"); });
}

}  // namespace

Verb pause_verb() {
  return {"pause",
          "pause sandboxes",
          pause,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
