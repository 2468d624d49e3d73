#include "machine/reclaim.h"

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {
namespace {

std::string reclaim_help() {
  return "Usage: cove reclaim FOLDER…\n\n"
         "Makes you the owner of files that root in your sandboxes has created in a folder. When Cove runs\n"
         "without root, `cove run -u root` and sudo inside leave files in a writable workspace that belong to one\n"
         "of your subordinate ids (/etc/subuid), so that you could neither change nor remove them.\n\n"
         "Examples:\n"
         "  cove reclaim build\n";
}
std::vector<OptionInfo> no_options() { return {}; }

int reclaim(const Arguments& args) {
  if (args.empty()) return complain(Error(Code::Invalid, "no folder given").hint("write cove reclaim FOLDER"));
  if (args[0] == "--help" || args[0] == "-h") return print(reclaim_help()) ? 0 : kOwnFailure;
  for (const std::string& folder : args) {
    Result<uint64_t> count = reclaim_files(folder);
    if (!count) return complain(count.error());
    if (!print(concat(folder, ": ", *count, *count == 1 ? " file is" : " files are", " yours again\n")))
      return kOwnFailure;
  }
  return 0;
}

}  // namespace

Verb reclaim_verb() {
  return {"reclaim", "take ownership of files that root in a sandbox created", reclaim, reclaim_help, no_options};
}

}  // namespace cove::cli
