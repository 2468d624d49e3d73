#include "base/text.h"
#include "cli/fs.h"

namespace cove::cli {
namespace {

constexpr Option<FsOrder> kOptions[] = {
    kFileUserOption<FsOrder>,
    kProjectOption<FsOrder>,
    kHelpOption<FsOrder>,
};

constexpr Form kForm = {
    .verb = "fs mv",
    .usage = "[OPTIONS] SANDBOX:FROM [SANDBOX:]TO",
    .text =
        "Moves or renames a file or a folder within a sandbox. An existing file is replaced; if TO is an existing\n"
        "folder, the file is moved into it.",
    .least = 2,
    .most = 2,
};

Result<void> move(Api& api, const client::Place& from, const std::string& word) {
  PathWord to = parse_path_word(word);
  if (!to.sandbox.empty() && to.sandbox != from.sandbox)
    return fail(
        Error(Code::Invalid, "files can be moved only within one sandbox").hint("cove cp copies them out and in"));
  Result<Json> there = api.entry({from.sandbox, to.path, from.user});
  if (there && client::text_of(*there, "type") == "directory") to.path = below(to.path, base_name(from.path));
  COVE_TRY(api.move(from, to.path));
  return {};
}

int fs_mv(const Arguments& args) {
  auto words = read_words<FsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_place(words->order, {words->operands[0]},
                        [&](Api& api, const client::Place& from) { return move(api, from, words->operands[1]); });
}

}  // namespace

Verb fs_mv_verb() {
  return {"mv",
          "move or rename a file or a folder",
          fs_mv,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
