#include "cli/fs.h"

namespace cove::cli {
namespace {

std::span<const Verb> parts() {
  static const Verb kParts[] = {fs_ls_verb(), fs_cat_verb(), fs_stat_verb(),  fs_mkdir_verb(),
                                fs_mv_verb(), fs_rm_verb(),  fs_chmod_verb(), fs_watch_verb()};
  return kParts;
}

std::string fs_help() {
  return parts_help(
      fs_verb(),
      "Works with files in a sandbox, as its user sees them. A path is absolute or relative to the user's home;\n"
      "SANDBOX: alone is the home. cove cp copies files in and out.");
}

}  // namespace

Verb fs_verb() {
  return {"fs",
          "list, read and change files in a sandbox",
          [](const Arguments& args) { return act_on_part(fs_verb(), args); },
          fs_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::SandboxPaths,
          parts};
}

Result<client::Place> place_of(const FsOrder& order, const std::string& text) {
  PathWord word = COVE_TRY(parse_sandbox_path(text));
  return client::Place{word.sandbox, word.path, order.user};
}

int for_each_place(const FsOrder& order, const std::vector<std::string>& words, const PlaceAct& act) {
  std::vector<client::Place> places;
  for (const std::string& word : words) {
    auto place = place_of(order, word);
    if (!place) return complain(place.error());
    places.push_back(std::move(*place));
  }
  auto api = open_server(order);
  if (!api) return complain(api.error());
  int exit_code = 0;
  for (const client::Place& place : places)
    if (auto done = act(*api, place); !done) exit_code = complain(done.error());
  return exit_code;
}

}  // namespace cove::cli
