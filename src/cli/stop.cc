#include "base/text.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct StopOrder : CommonOrder {
  std::optional<std::chrono::milliseconds> grace;
};

// 0 is allowed, as in Docker.
Result<void> set_grace(StopOrder& order, const std::string& text) {
  order.grace = text == "0" ? std::chrono::milliseconds(0) : COVE_TRY(parse_duration(text));
  return {};
}

constexpr Option<StopOrder> kOptions[] = {
    {{"time", 't', "TIME", "time between TERM and KILL, like 500ms or 10s (default: 2s)", "Options"}, set_grace},
    kProjectOption<StopOrder>,
    kJsonOption<StopOrder>,
    kHelpOption<StopOrder>,
};

constexpr Form kForm = {
    .verb = "stop",
    .usage = "[OPTIONS] SANDBOX…",
    .text = "Stops sandboxes: ends all their processes and keeps their files. cove start starts them again.",
    .least = 1,
    .most = kMany,
};

int stop(const Arguments& args) {
  auto words = read_words<StopOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Json body = Json::object();
  if (words->order.grace) body["grace"] = words->order.grace->count();
  return for_each_name(words->order, words->operands,
                       [&](Api& api, const std::string& sandbox) { return api.act(sandbox, "stop", body); });
}

}  // namespace

Verb stop_verb() {
  return {"stop",
          "stop sandboxes and keep their files",
          stop,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
