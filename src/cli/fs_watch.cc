#include "base/text.h"
#include "cli/fs.h"
#include "cli/table.h"
#include "client/problem.h"

namespace cove::cli {
namespace {

struct WatchOrder : FsOrder {
  client::Depth depth = client::Depth::One;
};

constexpr Option<WatchOrder> kOptions[] = {
    {{"recursive", 'r', "", "watch subfolders recursively", "Options"},
     [](WatchOrder& order, Text) -> Result<void> {
       order.depth = client::Depth::Recursive;
       return {};
     }},
    kFileUserOption<WatchOrder>,
    kProjectOption<WatchOrder>,
    kJsonOption<WatchOrder>,
    kHelpOption<WatchOrder>,
};

constexpr Form kForm = {
    .verb = "fs watch",
    .usage = "[OPTIONS] SANDBOX:PATH",
    .text = "Prints each change in a folder as it happens, until interrupted.",
    .least = 1,
    .most = 1,
};

std::string line_of(const Json& change, const WatchOrder& order) {
  if (order.json) return client::dump(change) + "\n";
  return concat(printable(client::text_of(change, "type")), "  ", printable(client::text_of(change, "path")),
                client::flag_of(change, "directory") ? "/" : "", "\n");
}

Result<void> watch(Api& api, const client::Place& place, const WatchOrder& order) {
  client::EventStream stream = COVE_TRY(api.watch(place, order.depth));
  while (std::optional<client::ServerEvent> event = COVE_TRY(stream.next())) {
    Json data = COVE_TRY(client::parse_json(event->data));
    if (event->event == "error") return fail(client::read_problem(data, 500));
    if (event->event == "ready") tell("watching");
    if (event->event == "change" && !print(line_of(data, order))) return {};
  }
  return fail(Code::Unavailable, "the server ended the stream");
}

int fs_watch(const Arguments& args) {
  auto words = read_words<WatchOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_place(words->order, words->operands,
                        [&](Api& api, const client::Place& place) { return watch(api, place, words->order); });
}

}  // namespace

Verb fs_watch_verb() {
  return {"watch",
          "print changes as they happen",
          fs_watch,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
