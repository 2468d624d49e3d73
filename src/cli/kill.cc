#include <csignal>

#include "base/signal_name.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct KillOrder : CommonOrder {
  int signal = SIGKILL;
};

constexpr Option<KillOrder> kOptions[] = {
    {{"signal", 's', "SIGNAL", "signal name or number (default: KILL)", "Options"},
     [](KillOrder& order, const std::string& text) -> Result<void> {
       order.signal = COVE_TRY(parse_signal(text));
       return {};
     }},
    kProjectOption<KillOrder>,
    kHelpOption<KillOrder>,
};

constexpr Form kForm = {
    .verb = "kill",
    .usage = "[OPTIONS] SANDBOX [EXEC…]",
    .text =
        "Kills commands in a sandbox and all processes they started, or sends them a signal: execs by id or tag, or\n"
        "by default all that are running.",
    .least = 1,
    .most = kMany,
};

Result<void> kill_exec(Api& api, const std::string& sandbox, const std::string& exec, int signal) {
  if (signal != SIGKILL) return api.signal_exec(sandbox, exec, {{"signal", signal}, {"group", true}});
  COVE_TRY(api.kill_exec(sandbox, exec));
  return {};
}

Result<std::vector<std::string>> chosen(Api& api, const std::vector<std::string>& operands) {
  std::vector<std::string> ids;
  for (size_t i = 1; i < operands.size(); ++i)
    ids.push_back(client::text_of(COVE_TRY(find_exec(api, operands[0], operands[i])), "id"));
  if (operands.size() > 1) return ids;
  for (const Json& exec : COVE_TRY(api.execs(operands[0], {.state = "running"})))
    ids.push_back(client::text_of(exec, "id"));
  return ids;
}

Result<std::vector<std::string>> kill_all(const KillOrder& order, const std::vector<std::string>& operands) {
  Api api = COVE_TRY(open_server(order));
  std::vector<std::string> ids = COVE_TRY(chosen(api, operands));
  for (const std::string& id : ids) COVE_TRY(kill_exec(api, operands[0], id, order.signal));
  return ids;
}

int kill(const Arguments& args) {
  auto words = read_words<KillOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto ids = kill_all(words->order, words->operands);
  if (!ids) return complain(ids.error());
  std::string text;
  for (const std::string& id : *ids) text += id + "\n";
  return print(text) ? 0 : kOwnFailure;
}

}  // namespace

Verb kill_verb() {
  return {"kill",
          "kill or signal commands in a sandbox",
          kill,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
