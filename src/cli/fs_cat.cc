#include <unistd.h>

#include "cli/fs.h"

namespace cove::cli {
namespace {

constexpr Option<FsOrder> kOptions[] = {
    kFileUserOption<FsOrder>,
    kProjectOption<FsOrder>,
    kHelpOption<FsOrder>,
};

constexpr Form kForm = {
    .verb = "fs cat",
    .usage = "[OPTIONS] SANDBOX:PATH…",
    .text = "Prints files as they are.",
    .least = 1,
    .most = kMany,
};

int fs_cat(const Arguments& args) {
  auto words = read_words<FsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_place(words->order, words->operands, [](Api& api, const client::Place& place) -> Result<void> {
    COVE_TRY(api.download(place, STDOUT_FILENO, {}));
    return {};
  });
}

}  // namespace

Verb fs_cat_verb() {
  return {"cat",
          "print a file",
          fs_cat,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
