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
    {{"all", 'a', "", "first print its output so far, even if it has ended", "Options"},
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
        "Attaches this terminal to a command that is running in a sandbox: an exec's id or tag, or by default the\n"
        "newest one. Exits with the command's exit code. Closing this terminal leaves the command running; so does\n"
        "Ctrl-P Ctrl-Q, if the command has a terminal.",
    .least = 1,
    .most = 2,
};

Error has_ended(const std::string& sandbox, const std::string& exec) {
  return Error(Code::Conflict, concat("exec ", exec, " in sandbox ", sandbox, " has ended"))
      .hint(concat("cove logs ", sandbox, " ", exec, " shows its output"));
}

// The named exec, otherwise the newest running one.
Result<Json> choose_exec(Api& api, const std::vector<std::string>& operands) {
  if (operands.size() > 1) return find_exec(api, operands[0], operands[1]);
  std::vector<Json> running = COVE_TRY(api.execs(operands[0], {.state = "running"}));
  if (running.empty())
    return fail(Error(Code::NotFound, concat("no command is running in sandbox ", operands[0]))
                    .hint(concat("cove ps -a ", operands[0], " lists commands that have ended")));
  return newest_of(running);
}

Result<std::optional<Json>> join(const AttachWords& order, const std::vector<std::string>& operands) {
  Api api = COVE_TRY(open_server(order));
  Json exec = COVE_TRY(choose_exec(api, operands));
  const bool running = client::text_of(exec, "state") == "running";
  if (!running && !order.all) return fail(has_ended(operands[0], client::text_of(exec, "id")));
  Caller caller = COVE_TRY(Caller::create());
  AttachOrder attach;
  attach.on_hangup = AttachOrder::OnHangup::Detach;
  attach.input = !order.no_input;
  attach.terminal = client::field(exec, "pty").is_object();
  attach.detach_keys = attach.terminal;
  if (!order.all) attach.from = client::count_of(exec, "next_seq");
  return attach_to(api, caller, operands[0], client::text_of(exec, "id"), attach);
}

int attach(const Arguments& args) {
  auto words = read_words<AttachWords>(kForm, kOptions, args);
  if (!words) return words.error();
  auto result = join(words->order, words->operands);
  if (!result) return complain(result.error());
  if (!*result) {
    tell("detached; the command keeps running");
    return 0;
  }
  explain(**result);
  return exit_code_of(**result);
}

}  // namespace

Verb attach_verb() {
  return {"attach",
          "attach to a running command",
          attach,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
