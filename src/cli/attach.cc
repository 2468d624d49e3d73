#include "base/text.h"
#include "cli/exec_command.h"
#include "cli/exec_result.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct AttachWords : CommonOrder {
  bool no_input = false;
  bool all = false;
};

constexpr Option<AttachWords> kOptions[] = {
    {{"no-stdin", '\0', "", "do not forward standard input", "Options"},
     [](AttachWords& order, const std::string&) -> Result<void> {
       order.no_input = true;
       return {};
     }},
    {{"all", 'a', "", "first what it has printed so far", "Options"},
     [](AttachWords& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    kProjectOption<AttachWords>,
    kHelpOption<AttachWords>,
};

constexpr Form kForm = {
    .verb = "attach",
    .usage = "[OPTIONS] SANDBOX [EXEC]",
    .text =
        "Connects this terminal with a command that runs in a sandbox: an exec's id or tag, or the newest one. Exits\n"
        "as the command does. Ctrl-P Ctrl-Q leaves a command that has a terminal running.",
    .least = 1,
    .most = 2,
};

Result<std::optional<Json>> join(const AttachWords& order, const std::vector<std::string>& operands) {
  Api api = COVE_TRY(open_server(order));
  Json exec = COVE_TRY(find_exec(api, operands[0], operands.size() > 1 ? operands[1] : ""));
  Caller caller = COVE_TRY(Caller::create());
  AttachOrder attach;
  attach.input = !order.no_input;
  attach.terminal = client::field(exec, "pty").is_object();
  attach.detach_keys = attach.terminal;
  if (!order.all && client::text_of(exec, "state") == "running") attach.from = client::count_of(exec, "next_seq");
  return attach_to(api, caller, operands[0], client::text_of(exec, "id"), attach);
}

int attach(const Arguments& args) {
  auto words = read_words<AttachWords>(kForm, kOptions, args);
  if (!words) return words.error();
  auto result = join(words->order, words->operands);
  if (!result) return complain(result.error());
  if (!*result) {
    tell("left; it goes on");
    return 0;
  }
  explain(**result);
  return exit_code_of(**result);
}

}  // namespace

Verb attach_verb() {
  return {"attach",
          "connect with a command that runs",
          attach,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
