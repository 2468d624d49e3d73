#include "cli/verbs.h"

#include <algorithm>

#include "base/text.h"
#include "cli/terminal.h"

namespace cove::cli {
namespace {

// In the order of the help; each group begins with its heading.
struct Row {
  std::string_view heading;
  Verb (*verb)();
};
constexpr Row kRows[] = {
    {"One command", run_verb},
    {"", execute_verb},
    {"Sandboxes", create_verb},
    {"", ls_verb},
    {"", inspect_verb},
    {"", start_verb},
    {"", stop_verb},
    {"", pause_verb},
    {"", resume_verb},
    {"", renew_verb},
    {"", update_verb},
    {"", rm_verb},
    {"", stats_verb},
    {"", top_verb},
    {"Commands in a sandbox", exec_verb},
    {"", shell_verb},
    {"", notebook_verb},
    {"", ps_verb},
    {"", logs_verb},
    {"", attach_verb},
    {"", kill_verb},
    {"Ports of a sandbox", ports_verb},
    {"", forward_verb},
    {"Agent sessions", session_verb},
    {"The network", net_verb},
    {"Files in a sandbox", cp_verb},
    {"", fs_verb},
    {"", reclaim_verb},
    {"Images and languages", pull_verb},
    {"", images_verb},
    {"", image_verb},
    {"", languages_verb},
    {"The server", serve_verb},
    {"", stop_server_verb},
    {"", events_verb},
    {"", project_verb},
    {"", key_verb},
    {"", secret_verb},
    {"", config_verb},
    {"Other", doctor_verb},
    {"", completion_verb},
    {"", version_verb},
    {"", help_verb},
};

// Aliases that other programs use for some of the verbs.
std::string verb_name(const std::string& word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version" || word == "-v" || word == "-V") return "version";
  if (word == "list") return "ls";
  if (word == "remove" || word == "delete") return "rm";
  if (word == "unpause") return "resume";
  return word;
}

Error unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) names.emplace_back(verb.name);
  std::string near = closest(word, names);
  Error error(Code::Invalid, concat("unknown command '", word, "'"));
  if (near.empty()) return std::move(error).hint(concat("see cove help; to run it in a sandbox: cove run -- ", word));
  return std::move(error).hint(concat("did you mean cove ", near, "?"));
}

Error unknown_part(const Verb& verb, const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& part : verb.parts()) names.emplace_back(part.name);
  std::string near = closest(word, names);
  std::string advice = near.empty() ? concat("available: ", join(names, ", ")) : concat("did you mean ", near, "?");
  return Error(Code::Invalid, concat("cove ", verb.name, " has no '", word, "'")).hint(advice);
}

}  // namespace

const std::vector<VerbGroup>& verb_groups() {
  static const std::vector<VerbGroup> kGroups = [] {
    std::vector<VerbGroup> groups;
    for (const Row& row : kRows) {
      if (!row.heading.empty()) groups.push_back({row.heading, {}});
      groups.back().verbs.push_back(row.verb());
    }
    return groups;
  }();
  return kGroups;
}

std::optional<Verb> find_verb(std::string_view name) {
  // Stops at the first match: each verb is in another part of the program, which would have to be read from disk.
  for (const Row& row : kRows)
    if (Verb verb = row.verb(); verb.name == name) return verb;
  return std::nullopt;
}

int act_on_part(const Verb& verb, const Arguments& args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") return print(verb.help()) ? 0 : kOwnFailure;
  std::span<const Verb> parts = verb.parts();
  auto part = std::find_if(parts.begin(), parts.end(), [&](const Verb& each) { return each.name == args[0]; });
  if (part == parts.end()) return complain(unknown_part(verb, args[0]));
  return part->act(Arguments(args.begin() + 1, args.end()));
}

std::string parts_help(const Verb& verb, std::string_view text) {
  std::string help = concat("Usage: cove ", verb.name, " VERB …\n\n", text, "\n\nVerbs:\n");
  for (const Verb& part : verb.parts())
    help += concat("  ", part.name, std::string(10 - part.name.size(), ' '), part.summary, "\n");
  return help + concat("\ncove ", verb.name, " VERB --help explains one of them.\n");
}

int cove(const Arguments& args) {
  if (args.empty()) return help_verb().act({});
  const std::optional<Verb> verb = find_verb(verb_name(args[0]));
  if (!verb) return complain(unknown_verb(args[0]));
  return verb->act(Arguments(args.begin() + 1, args.end()));
}

}  // namespace cove::cli
