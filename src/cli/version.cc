#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {

int version(const Arguments& args) {
  if (!args.empty()) return complain(Error(Code::Invalid, "cove version takes no arguments"));
  return print("cove " COVE_VERSION "\n") ? 0 : kOwnFailure;
}

std::string version_help() { return "Usage: cove version\n\nPrints the version.\n"; }

}  // namespace cove::cli
