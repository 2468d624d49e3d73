#include "cli/fs.h"

namespace cove::cli {
namespace {

constexpr Option<FsOrder> kOptions[] = {
    kFileUserOption<FsOrder>,
    kProjectOption<FsOrder>,
    kHelpOption<FsOrder>,
};

constexpr Form kForm = {
    .verb = "fs chmod",
    .usage = "[OPTIONS] MODE SANDBOX:PATH…",
    .text = "Changes the mode of files or folders. The mode is octal, like 0755.",
    .least = 2,
    .most = kMany,
};

int fs_chmod(const Arguments& args) {
  auto words = read_words<FsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  std::string mode = words->operands[0];
  words->operands.erase(words->operands.begin());
  return for_each_place(words->order, words->operands, [&](Api& api, const client::Place& place) -> Result<void> {
    COVE_TRY(api.change_mode(place, mode));
    return {};
  });
}

}  // namespace

Verb fs_chmod_verb() {
  return {"chmod",
          "change a mode",
          fs_chmod,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
