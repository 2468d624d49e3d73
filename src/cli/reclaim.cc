#include "machine/reclaim.h"

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {
namespace {

std::string reclaim_help() {
  return "Usage: cove reclaim FOLDER…\n\n"
         "Gives you the files in a folder that root in your sandboxes has made there. Without root's rights on this\n"
         "machine, `cove run -u root` and sudo inside leave files in a writable workspace that belong to one of your\n"
         "subordinate ids (/etc/subuid), and that you could neither change nor remove.\n\n"
         "Examples:\n"
         "  cove reclaim build\n";
}
std::vector<OptionInfo> no_options() { return {}; }

int reclaim(const Arguments& args) {
  if (args.empty()) return complain(Error(Code::Invalid, "no folder named").hint("write cove reclaim FOLDER"));
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
  return {"reclaim", "take back files that root in a sandbox has made", reclaim, reclaim_help, no_options};
}

}  // namespace cove::cli
