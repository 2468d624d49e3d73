#include "cli/session_verbs.h"

namespace cove::cli {
namespace {

std::span<const Verb> parts() {
  static const Verb kParts[] = {session_start_verb(), session_ls_verb(), session_inspect_verb(), session_exec_verb(),
                                session_end_verb()};
  return kParts;
}

std::string session_help() {
  return parts_help(
      session_verb(),
      "Manages agent sessions. The sandbox of a session is created when it is first used: one for each session, one\n"
      "for all sessions of an agent, or one that is shared by all (--scope).");
}

}  // namespace

Verb session_verb() {
  return {"session",
          "start, use and end agent sessions",
          [](const Arguments& args) { return act_on_part(session_verb(), args); },
          session_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Sessions,
          parts};
}

}  // namespace cove::cli
