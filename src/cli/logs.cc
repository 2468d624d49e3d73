#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "cli/session.h"
#include "cli/words.h"
#include "client/problem.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

struct LogsOrder : CommonOrder {
  bool follow = false;
  uint64_t from = 1;
};

Result<void> set_from(LogsOrder& order, const std::string& text) {
  order.from = static_cast<uint64_t>(COVE_TRY(parse_integer(text, 1, INT64_MAX)));
  return {};
}

constexpr Option<LogsOrder> kOptions[] = {
    {{"follow", 'f', "", "wait for more output, until the command ends", "Options"},
     [](LogsOrder& order, const std::string&) -> Result<void> {
       order.follow = true;
       return {};
     }},
    {{"from", '\0', "NUMBER", "start with this chunk of output (the first is 1)", "Options"}, set_from},
    kProjectOption<LogsOrder>,
    kHelpOption<LogsOrder>,
};

constexpr Form kForm = {
    .verb = "logs",
    .usage = "[OPTIONS] SANDBOX [EXEC]",
    .text =
        "Prints the output of a command in a sandbox: an exec's id or tag, or by default the newest one. Its standard\n"
        "error goes to standard error.",
    .least = 1,
    .most = 2,
};

Result<void> write_chunk(const Json& chunk, std::string_view stream) {
  std::string data = COVE_TRY(client::bytes_of(chunk));
  return sys::write_all(stream == "stderr" ? STDERR_FILENO : STDOUT_FILENO, data);
}

Result<void> print_so_far(Api& api, const std::string& sandbox, const std::string& exec, uint64_t from) {
  while (true) {
    Json portion = COVE_TRY(api.output(sandbox, exec, from));
    const Json& chunks = client::field(portion, "chunks");
    if (!chunks.is_array() || chunks.empty()) return {};
    for (const Json& chunk : chunks) COVE_TRY(write_chunk(chunk, client::text_of(chunk, "stream")));
    from = client::count_of(portion, "next");
  }
}

Result<void> print_all(Api& api, const std::string& sandbox, const std::string& exec, uint64_t from) {
  client::EventStream stream = COVE_TRY(api.follow_output(sandbox, exec, from));
  while (std::optional<client::ServerEvent> event = COVE_TRY(stream.next())) {
    Json data = COVE_TRY(client::parse_json(event->data));
    if (event->event == "exit") return {};
    if (event->event == "error") return fail(client::read_problem(data, 500));
    COVE_TRY(write_chunk(data, event->event));
  }
  return fail(Error(Code::Unavailable, "the server ended the stream").hint("try it again with --from"));
}

Result<void> show(const LogsOrder& order, const std::vector<std::string>& operands) {
  Api api = COVE_TRY(open_server(order));
  Json exec = COVE_TRY(find_exec(api, operands[0], operands.size() > 1 ? operands[1] : ""));
  std::string id = client::text_of(exec, "id");
  return order.follow ? print_all(api, operands[0], id, order.from) : print_so_far(api, operands[0], id, order.from);
}

int logs(const Arguments& args) {
  auto words = read_words<LogsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto shown = show(words->order, words->operands);
  // No message if our reader has closed the pipe.
  if (!shown && shown.error().errnum() == EPIPE) return kOwnFailure;
  return shown ? 0 : complain(shown.error());
}

}  // namespace

Verb logs_verb() {
  return {"logs",
          "show the output of a command",
          logs,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
