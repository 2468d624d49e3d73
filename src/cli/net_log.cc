#include "base/text.h"
#include "cli/net_verbs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "client/problem.h"

namespace cove::cli {
namespace {

using client::count_of;
using client::text_of;

struct LogOrder : CommonOrder {
  bool follow = false;
  bool denied = false;
  uint64_t after = 0;
};

constexpr Option<LogOrder> kOptions[] = {
    {{"follow", 'f', "", "wait for more entries", "Options"},
     [](LogOrder& order, const std::string&) -> Result<void> {
       order.follow = true;
       return {};
     }},
    {{"denied", '\0', "", "only what was denied", "Options"},
     [](LogOrder& order, const std::string&) -> Result<void> {
       order.denied = true;
       return {};
     }},
    {{"after", '\0', "NUMBER", "only entries after this number (see --json)", "Options"},
     [](LogOrder& order, const std::string& text) -> Result<void> {
       order.after = static_cast<uint64_t>(COVE_TRY(parse_integer(text, 0, INT64_MAX)));
       return {};
     }},
    kProjectOption<LogOrder>,
    kJsonOption<LogOrder>,
    kHelpOption<LogOrder>,
};

constexpr Form kForm = {
    .verb = "net log",
    .usage = "[OPTIONS] SANDBOX",
    .text =
        "Prints what a sandbox has looked up and connected to, or tried to, and why it was allowed or denied. The "
        "newest\n"
        "4096 entries of a sandbox are kept. --json prints one entry per line.",
    .least = 1,
    .most = 1,
    .more = "Examples:\n  cove net log box\n  cove net log -f --denied box",
};

// "GET example.org:80/a"
std::string place_of(const Json& entry) {
  const std::string method = text_of(entry, "method"), host = text_of(entry, "host");
  const bool six = host.contains(':');
  std::string place = six ? concat("[", host, "]") : host;
  if (uint64_t port = count_of(entry, "port")) place += concat(":", port);
  return concat(method, method.empty() ? "" : " ", place, text_of(entry, "path"));
}

std::string outcome_of(const Json& entry) {
  if (!client::flag_of(entry, "allowed")) return concat("  ", text_of(entry, "why"));
  if (text_of(entry, "stage") == "closed")
    return concat("  in ", format_bytes(count_of(entry, "in_bytes")), ", out ",
                  format_bytes(count_of(entry, "out_bytes")));
  const std::string rule = text_of(entry, "rule");
  return rule.empty() ? "" : concat("  by ", rule);
}

std::string line_of(const Json& entry) {
  constexpr size_t kStages = 8, kProtocols = 5;
  auto padded = [](std::string text, size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  const bool allowed = client::flag_of(entry, "allowed");
  return printable(concat(text_of(entry, "time"), "  ", padded(allowed ? text_of(entry, "stage") : "denied", kStages),
                          padded(text_of(entry, "protocol"), kProtocols), place_of(entry), outcome_of(entry))) +
         "\n";
}

enum class Next { GoOn, End };

// Ends when standard output is closed.
Next show(LogOrder& order, const Json& entry) {
  order.after = count_of(entry, "seq");
  if (order.denied && client::flag_of(entry, "allowed")) return Next::GoOn;
  return print(order.json ? client::dump(entry) + "\n" : line_of(entry)) ? Next::GoOn : Next::End;
}

Result<Next> print_so_far(Api& api, LogOrder& order, const std::string& sandbox) {
  while (true) {
    const Json portion = COVE_TRY(api.network_log(sandbox, order.after));
    const Json& entries = client::field(portion, "items");
    if (!entries.is_array() || entries.empty()) return Next::GoOn;
    for (const Json& entry : entries)
      if (show(order, entry) == Next::End) return Next::End;
  }
}

// Until the sandbox is gone, or the server.
Result<void> follow(Api& api, LogOrder& order, const std::string& sandbox) {
  client::EventStream stream = COVE_TRY(api.follow_network_log(sandbox, order.after));
  while (std::optional<client::ServerEvent> event = COVE_TRY(stream.next())) {
    const Json data = COVE_TRY(client::parse_json(event->data));
    if (event->event == "error") return fail(client::read_problem(data, 500));
    if (show(order, data) == Next::End) return {};
  }
  return {};
}

Result<void> print_log(LogOrder& order, const std::string& sandbox) {
  Api api = COVE_TRY(open_server(order));
  const Next next = COVE_TRY(print_so_far(api, order, sandbox));
  if (!order.follow || next == Next::End) return {};
  api.set_patience(std::chrono::milliseconds(-1));
  return follow(api, order, sandbox);
}

int log(const Arguments& args) {
  auto words = read_words<LogOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<void> printed = print_log(words->order, words->operands[0]);
  return printed ? 0 : complain(printed.error());
}

}  // namespace

Verb net_log_verb() {
  return {"log",
          "show what was reached, and what was denied",
          log,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
