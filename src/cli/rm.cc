#include "base/text.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct RmOrder : CommonOrder {
  bool force = false;
};

constexpr Option<RmOrder> kOptions[] = {
    {{"force", 'f', "", "also remove running sandboxes; ignore missing ones", "Options"},
     [](RmOrder& order, const std::string&) -> Result<void> {
       order.force = true;
       return {};
     }},
    kProjectOption<RmOrder>,
    kHelpOption<RmOrder>,
};

constexpr Form kForm = {
    .verb = "rm",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Removes sandboxes and everything in them.",
    .least = 1,
    .most = kMany,
};

Result<void> check_stopped(Api& api, const std::string& sandbox) {
  std::string state = client::text_of(COVE_TRY(api.sandbox(sandbox)), "state");
  if (state != "running" && state != "paused") return {};
  return fail(Error(Code::Conflict, concat("sandbox ", sandbox, " is ", state))
                  .hint("stop it first with cove stop, or remove it as it is with cove rm -f"));
}

Result<Json> remove(Api& api, const std::string& sandbox, const RmOrder& order) {
  if (!order.force) COVE_TRY(check_stopped(api, sandbox));
  Result<void> removed = api.remove(sandbox);
  if (removed || (order.force && removed.error().code() == Code::NotFound)) return Json();
  return fail(std::move(removed).error());
}

int rm(const Arguments& args) {
  auto words = read_words<RmOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands,
                       [&](Api& api, const std::string& sandbox) { return remove(api, sandbox, words->order); });
}

}  // namespace

Verb rm_verb() {
  return {"rm",
          "remove sandboxes",
          rm,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
