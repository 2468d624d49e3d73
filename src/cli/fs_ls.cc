#include <algorithm>

#include "base/text.h"
#include "cli/fs.h"
#include "cli/table.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

using client::text_of;

constexpr int kDeepest = 64;

struct LsOrder : FsOrder {
  bool details = false;
  bool hidden = false;
  int depth = 1;
};

constexpr Option<LsOrder> kOptions[] = {
    {{"long", 'l', "", "show mode, owner, size and time", "Options"},
     [](LsOrder& order, Text) -> Result<void> {
       order.details = true;
       return {};
     }},
    {{"all", 'a', "", "show names that begin with a dot", "Options"},
     [](LsOrder& order, Text) -> Result<void> {
       order.hidden = true;
       return {};
     }},
    {{"recursive", 'R', "", "list subfolders recursively", "Options"},
     [](LsOrder& order, Text) -> Result<void> {
       order.depth = kDeepest;
       return {};
     }},
    kFileUserOption<LsOrder>,
    kProjectOption<LsOrder>,
    kJsonOption<LsOrder>,
    kHelpOption<LsOrder>,
};

constexpr Form kForm = {
    .verb = "fs ls",
    .usage = "[OPTIONS] SANDBOX:PATH…",
    .text = "Lists folders or files.",
    .least = 1,
    .most = kMany,
};

std::string_view mark(const Json& entry) {
  std::string type = text_of(entry, "type");
  return type == "directory" ? "d" : type == "symlink" ? "l" : type == "file" ? "-" : "?";
}

// "0755" → "rwxr-xr-x".
std::string rights(const std::string& mode) {
  std::string text;
  for (char digit : mode.size() > 3 ? mode.substr(mode.size() - 3) : mode)
    text += concat((digit & 4) != 0 ? 'r' : '-', (digit & 2) != 0 ? 'w' : '-', (digit & 1) != 0 ? 'x' : '-');
  return text;
}

std::string shown_name(const Json& entry, const LsOrder& order) {
  std::string name = printable(text_of(entry, order.depth > 1 ? "path" : "name"));
  if (text_of(entry, "type") == "directory") name += "/";
  if (std::string target = text_of(entry, "target"); order.details && !target.empty())
    name += concat(" -> ", printable(target));
  return name;
}

std::string listing(const std::vector<Json>& entries, const LsOrder& order) {
  std::string names;
  Table table({"MODE", "OWNER", "SIZE", "CHANGED", "NAME"});
  for (const Json& entry : entries) {
    names += shown_name(entry, order) + "\n";
    table.add({concat(mark(entry), rights(text_of(entry, "mode"))),
               concat(client::count_of(entry, "uid"), ":", client::count_of(entry, "gid")),
               concat(client::count_of(entry, "size_bytes")), printable(text_of(entry, "mtime").substr(0, 19)),
               shown_name(entry, order)});
  }
  return order.details ? table.text() : names;
}

Result<void> list(Api& api, const client::Place& place, const LsOrder& order) {
  std::vector<Json> entries;
  for (const Json& entry : COVE_TRY(api.entries(place, order.depth)))
    if (order.hidden || order.json || !text_of(entry, "name").starts_with('.')) entries.push_back(entry);
  std::sort(entries.begin(), entries.end(),
            [](const Json& a, const Json& b) { return text_of(a, "path") < text_of(b, "path"); });
  bool printed = order.json ? print_json(entries) : print(listing(entries, order));
  if (!printed) return fail(Code::Unavailable, "standard output cannot be written");
  return {};
}

int fs_ls(const Arguments& args) {
  auto words = read_words<LsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  return for_each_place(words->order, words->operands,
                        [&](Api& api, const client::Place& place) { return list(api, place, words->order); });
}

}  // namespace

Verb fs_ls_verb() {
  return {"ls",
          "list a folder",
          fs_ls,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::SandboxPaths};
}

}  // namespace cove::cli
