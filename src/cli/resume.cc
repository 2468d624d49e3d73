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
    .verb = "resume",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Resumes paused sandboxes where they stopped.",
    .least = 1,
    .most = kMany,
};

int resume(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands,
                       [](Api& api, const std::string& sandbox) { return api.act(sandbox, "resume"); });
}

}  // namespace

Verb resume_verb() {
  return {"resume",
          "resume paused sandboxes",
          resume,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
