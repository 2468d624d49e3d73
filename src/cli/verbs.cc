#include "cli/verbs.h"

#include <algorithm>

#include "base/text.h"
#include "cli/terminal.h"

namespace cove::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"run", "run a command, or a snippet of code, in a fresh sandbox", run, run_help},
    {"doctor", "tell what this machine can enforce, and how to get the rest", doctor, doctor_help},
    {"version", "tell the version", version, version_help},
    {"help", "explain a verb", help, help_help},
};

// The words that other programs use for two of the verbs.
std::string verb_name(const std::string& word) {
  if (word == "--help" || word == "-h") return "help";
  if (word == "--version" || word == "-v" || word == "-V") return "version";
  return word;
}

Error unknown_verb(const std::string& word) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  std::string near = closest(word, names);
  Error error(Code::Invalid, concat("unknown verb '", word, "'"));
  if (near.empty()) return std::move(error).hint(concat("see cove help; to run it in a sandbox: cove run -- ", word));
  return std::move(error).hint(concat("did you mean cove ", near, "?"));
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

int cove(const Arguments& args) {
  if (args.empty()) return help({});
  std::string name = verb_name(args[0]);
  auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& each) { return each.name == name; });
  if (verb == std::end(kVerbs)) return complain(unknown_verb(args[0]));
  return verb->act(Arguments(args.begin() + 1, args.end()));
}

}  // namespace cove::cli
