#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {
namespace {

int version(const Arguments& args) {
  if (!args.empty()) return complain(Error(Code::Invalid, "cove version takes no arguments"));
  return print("cove " COVE_VERSION "\n") ? 0 : kOwnFailure;
}

std::string version_help() { return "Usage: cove version\n\nPrints the version.\n"; }
std::vector<OptionInfo> no_options() { return {}; }

}  // namespace

Verb version_verb() { return {"version", "print the version", version, version_help, no_options}; }

}  // namespace cove::cli
