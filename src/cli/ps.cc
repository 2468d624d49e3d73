#include "base/text.h"
#include "cli/exec_text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

constexpr size_t kCommandWidth = 60;

struct PsOrder : CommonOrder {
  bool all = false;
  bool quiet = false;
  bool whole = false;
  std::string tag;
};

constexpr Option<PsOrder> kOptions[] = {
    {{"all", 'a', "", "also list commands that have ended", "Options"},
     [](PsOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    {{"tag", '\0', "TEXT", "list only execs with this tag", "Options"},
     [](PsOrder& order, const std::string& text) -> Result<void> {
       order.tag = text;
       return {};
     }},
    {{"quiet", 'q', "", "print only ids", "Options"},
     [](PsOrder& order, const std::string&) -> Result<void> {
       order.quiet = true;
       return {};
     }},
    {{"no-trunc", '\0', "", "do not truncate command lines", "Options"},
     [](PsOrder& order, const std::string&) -> Result<void> {
       order.whole = true;
       return {};
     }},
    kProjectOption<PsOrder>,
    kJsonOption<PsOrder>,
    kHelpOption<PsOrder>,
};

constexpr Form kForm = {
    .verb = "ps",
    .usage = "[OPTIONS] SANDBOX",
    .text = "Lists the commands (execs) running in a sandbox; with -a, also those that have ended.",
    .least = 1,
    .most = 1,
};

std::string table_of(const std::vector<Json>& execs, const PsOrder& order) {
  Table table({"EXEC", "STATE", "AGE", "USER", "TAG", "COMMAND"});
  Time now = std::chrono::system_clock::now();
  for (const Json& exec : execs) {
    std::string user = text_of(exec, "user"), tag = text_of(exec, "tag"), command = printable(exec_command(exec));
    table.add({printable(text_of(exec, "id")), exec_state(exec), age(text_of(exec, "started_at"), now),
               user.empty() ? "-" : printable(user), tag.empty() ? "-" : printable(tag),
               order.whole ? command : shorten(command, kCommandWidth)});
  }
  return table.text();
}

Result<std::vector<Json>> list(const PsOrder& order, const std::string& sandbox) {
  Api api = COVE_TRY(open_server(order));
  return api.execs(sandbox, {.state = order.all ? "" : "running", .tag = order.tag});
}

std::string ids_of(const std::vector<Json>& execs) {
  std::string text;
  for (const Json& exec : execs) text += text_of(exec, "id") + "\n";
  return text;
}

int ps(const Arguments& args) {
  auto words = read_words<PsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto execs = list(words->order, words->operands[0]);
  if (!execs) return complain(execs.error());
  bool printed = words->order.quiet  ? print(ids_of(*execs))
                 : words->order.json ? print_json(*execs)
                                     : print(table_of(*execs, words->order));
  return printed ? 0 : kOwnFailure;
}

}  // namespace

Verb ps_verb() {
  return {"ps",
          "list the commands running in a sandbox",
          ps,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
