#include "cli/fs.h"

namespace cove::cli {
namespace {

struct MkdirOrder : FsOrder {
  client::Parents parents = client::Parents::MustExist;
  std::string mode;
};

constexpr Option<MkdirOrder> kOptions[] = {
    {{"parents", 'p', "", "create parent folders; no error if it exists", "Options"},
     [](MkdirOrder& order, Text) -> Result<void> {
       order.parents = client::Parents::Make;
       return {};
     }},
    {{"mode", 'm', "MODE", "octal, like 0700 (default: 0755)", "Options"},
     [](MkdirOrder& order, Text text) -> Result<void> {
       order.mode = text;
       return {};
     }},
    kFileUserOption<MkdirOrder>,
    kProjectOption<MkdirOrder>,
    kHelpOption<MkdirOrder>,
};

constexpr Form kForm = {
    .verb = "fs mkdir",
    .usage = "[OPTIONS] SANDBOX:PATH…",
    .text = "Creates folders.",
    .least = 1,
    .most = kMany,
};

int fs_mkdir(const Arguments& args) {
  auto words = read_words<MkdirOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const MkdirOrder& order = words->order;
  return for_each_place(order, words->operands, [&](Api& api, const client::Place& place) -> Result<void> {
    COVE_TRY(api.make_folder(place, order.mode, order.parents));
    return {};
  });
}

}  // namespace

Verb fs_mkdir_verb() {
  return {"mkdir",
          "create a folder",
          fs_mkdir,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
