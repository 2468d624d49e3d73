#include <algorithm>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {

int help(const Arguments& args) {
  if (args.empty()) return print(cove_help()) ? 0 : kOwnFailure;
  auto all = verbs();
  auto verb = std::find_if(all.begin(), all.end(), [&](const Verb& each) { return each.name == args[0]; });
  if (verb == all.end())
    return complain(Error(Code::Invalid, concat("there is no help on '", args[0], "'")).hint("see cove help"));
  return print(verb->help()) ? 0 : kOwnFailure;
}

std::string help_help() { return "Usage: cove help [VERB]\n\nExplains Cove, or one of its verbs.\n"; }

std::string cove_help() {
  std::string text =
      "Cove runs code that you do not trust, in a sandbox of its own.\n\n"
      "Usage: cove VERB [OPTIONS] [ARGUMENTS]\n\nVerbs:\n";
  for (const Verb& verb : verbs())
    text += concat("  ", verb.name, std::string(10 - verb.name.size(), ' '), verb.summary, "\n");
  return text +
         "\nExamples:\n"
         "  cove run -- python3 -c 'print(6*7)'\n"
         "  cove run -it -- bash\n"
         "  cove help run\n";
}

}  // namespace cove::cli
