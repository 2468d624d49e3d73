#include "cli/fs.h"

namespace cove::cli {
namespace {

struct RmOrder : FsOrder {
  client::Depth depth = client::Depth::One;
  bool force = false;
};

constexpr Option<RmOrder> kOptions[] = {
    {{"recursive", 'r', "", "remove folders and their contents", "Options"},
     [](RmOrder& order, Text) -> Result<void> {
       order.depth = client::Depth::Recursive;
       return {};
     }},
    {{"force", 'f', "", "ignore missing files", "Options"},
     [](RmOrder& order, Text) -> Result<void> {
       order.force = true;
       return {};
     }},
    kFileUserOption<RmOrder>,
    kProjectOption<RmOrder>,
    kHelpOption<RmOrder>,
};

constexpr Form kForm = {
    .verb = "fs rm",
    .usage = "[OPTIONS] SANDBOX:PATH…",
    .text = "Removes files, and with -r folders.",
    .least = 1,
    .most = kMany,
};

int fs_rm(const Arguments& args) {
  auto words = read_words<RmOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const RmOrder& order = words->order;
  return for_each_place(order, words->operands, [&](Api& api, const client::Place& place) -> Result<void> {
    Result<void> removed = api.remove_file(place, order.depth);
    if (removed || (order.force && removed.error().code() == Code::NotFound)) return {};
    return removed;
  });
}

}  // namespace

Verb fs_rm_verb() {
  return {"rm",
          "remove a file or a folder",
          fs_rm,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
