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
    .verb = "inspect",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Prints the details of a sandbox as JSON; of several sandboxes, as a list.",
    .least = 1,
    .most = kMany,
};

int inspect(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return inspect_each(words->order, words->operands,
                      [](Api& api, const std::string& name) { return api.sandbox(name); });
}

}  // namespace

Verb inspect_verb() {
  return {"inspect",
          "show the details of a sandbox",
          inspect,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
