#include "cli/net_verbs.h"

namespace cove::cli {
namespace {

std::span<const Verb> parts() {
  static const Verb kParts[] = {net_show_verb(),  net_check_verb(),    net_log_verb(),   net_allow_verb(),
                                net_block_verb(), net_requests_verb(), net_learn_verb(), net_groups_verb()};
  return kParts;
}

std::string net_help() {
  return parts_help(net_verb(),
                    "Shows and changes what a sandbox may reach. A sandbox has no network unless it is created with\n"
                    "--network or --allow; changes act at once, on open connections too.");
}

}  // namespace

Verb net_verb() {
  return {"net",
          "see and change what a sandbox may reach",
          [](const Arguments& args) { return act_on_part(net_verb(), args); },
          net_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Sandboxes,
          parts};
}

}  // namespace cove::cli
