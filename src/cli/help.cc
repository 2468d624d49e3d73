#include <algorithm>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace cove::cli {
namespace {

std::string cove_help() {
  std::string text =
      "Cove runs untrusted code in sandboxes.\n\n"
      "Usage: cove VERB [OPTIONS] [ARGUMENTS]\n";
  for (const VerbGroup& group : verb_groups()) {
    text += concat("\n", group.heading, ":\n");
    for (const Verb& verb : group.verbs)
      text += concat("  ", verb.name, std::string(12 - verb.name.size(), ' '), verb.summary, "\n");
  }
  return text +
         "\nExamples:\n"
         "  cove run -- python3 -c 'print(6*7)'\n"
         "  cove create --name box && cove exec box -- sh -c 'echo hi > file' && cove cp box:file .\n"
         "  cove shell box\n"
         "  cove help exec\n"
         "\nVerbs that need a server start one for you if none is running, on a socket that only you can use.\n"
         "COVE_HOST=unix:PATH or https://HOST:PORT names another one, COVE_API_KEY a key for it, COVE_CACERT a\n"
         "file with the certificate of a private authority.\n";
}

std::string help_help() { return "Usage: cove help [VERB]\n\nExplains Cove or one of its verbs.\n"; }

Error no_help_on(const std::string& word) {
  std::vector<std::string> names;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) names.emplace_back(verb.name);
  std::string near = closest(word, names);
  Error error(Code::Invalid, concat("no help on '", word, "'"));
  return std::move(error).hint(near.empty() ? "see cove help" : concat("did you mean cove help ", near, "?"));
}

const Verb* find_part(const Verb& verb, const std::string& name) {
  if (verb.parts == nullptr) return nullptr;
  auto parts = verb.parts();
  auto part = std::find_if(parts.begin(), parts.end(), [&](const Verb& each) { return each.name == name; });
  return part == parts.end() ? nullptr : &*part;
}

int help(const Arguments& args) {
  if (args.empty()) return print(cove_help()) ? 0 : kOwnFailure;
  const std::optional<Verb> verb = find_verb(args[0]);
  if (!verb) return complain(no_help_on(args[0]));
  const Verb* part = args.size() > 1 ? find_part(*verb, args[1]) : nullptr;
  return print(part ? part->help() : verb->help()) ? 0 : kOwnFailure;
}

std::vector<OptionInfo> no_options() { return {}; }

}  // namespace

Verb help_verb() { return {"help", "explain a verb", help, help_help, no_options, Completes::Verbs}; }

}  // namespace cove::cli
