#include "base/text.h"
#include "cli/fs.h"
#include "cli/table.h"

namespace cove::cli {
namespace {

constexpr Option<FsOrder> kOptions[] = {
    kFileUserOption<FsOrder>,
    kProjectOption<FsOrder>,
    kJsonOption<FsOrder>,
    kHelpOption<FsOrder>,
};

constexpr Form kForm = {
    .verb = "fs stat",
    .usage = "[OPTIONS] SANDBOX:PATH…",
    .text = "Shows the type, size, owner, mode and times of files, folders or links.",
    .least = 1,
    .most = kMany,
};

std::string description(const Json& entry) {
  std::string text;
  for (auto& [name, value] : entry.items())
    text += concat(name, std::string(name.size() < 8 ? 8 - name.size() : 1, ' '),
                   printable(value.is_string() ? value.get<std::string>() : client::dump(value)), "\n");
  return text;
}

Result<void> describe(Api& api, const client::Place& place, const FsOrder& order) {
  Json entry = COVE_TRY(api.entry(place));
  bool printed = order.json ? print_json(entry) : print(description(entry));
  if (!printed) return fail(Code::Unavailable, "standard output cannot be written");
  return {};
}

int fs_stat(const Arguments& args) {
  auto words = read_words<FsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_place(words->order, words->operands,
                        [&](Api& api, const client::Place& place) { return describe(api, place, words->order); });
}

}  // namespace

Verb fs_stat_verb() {
  return {"stat",
          "show a file's metadata",
          fs_stat,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
