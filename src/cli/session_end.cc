#include "cli/session.h"
#include "cli/session_verbs.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "session end",
    .usage = "[OPTIONS] SESSION…",
    .text =
        "Ends sessions. A sandbox that belongs to the session alone is removed with everything in it; the sandbox\n"
        "of an agent and the shared one are kept.",
    .least = 1,
    .most = kMany,
};

int end(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands, [](Api& api, const std::string& session) -> Result<Json> {
    COVE_TRY(api.end_session(session));
    return Json();
  });
}

}  // namespace

Verb session_end_verb() {
  return {"end",
          "end sessions",
          end,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sessions};
}

}  // namespace cove::cli
