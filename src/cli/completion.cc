#include "cli/completion.h"

#include "base/text.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

constexpr Option<CommonOrder> kOptions[] = {kHelpOption<CommonOrder>};

constexpr Form kForm = {
    .verb = "completion",
    .usage = "bash|zsh|fish",
    .text = "Prints a script that lets a shell complete verbs, options and the names of sandboxes.",
    .least = 1,
    .most = 1,
    .more =
        "Load it from the shell's start-up file:\n"
        "  bash: source <(cove completion bash)          in ~/.bashrc\n"
        "  zsh:  source <(cove completion zsh)           in ~/.zshrc, after compinit\n"
        "  fish: cove completion fish | source           in ~/.config/fish/config.fish",
};

CompletedVerb completed(const std::string& words, const Verb& verb) {
  CompletedVerb result{words, verb.summary, verb.options(), verb.completes, {}};
  if (verb.parts == nullptr) return result;
  for (const Verb& part : verb.parts()) result.parts.emplace_back(part.name);
  return result;
}

int completion(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const std::string& shell = words->operands[0];
  if (shell == "bash") return print(bash_completion(completed_verbs())) ? 0 : kOwnFailure;
  if (shell == "zsh") return print(zsh_completion(completed_verbs())) ? 0 : kOwnFailure;
  if (shell == "fish") return print(fish_completion(completed_verbs())) ? 0 : kOwnFailure;
  return complain(
      Error(Code::Unsupported, concat("unsupported shell '", shell, "'")).hint("bash, zsh and fish are supported"));
}

}  // namespace

std::vector<CompletedVerb> completed_verbs() {
  std::vector<CompletedVerb> all;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) {
      all.push_back(completed(std::string(verb.name), verb));
      if (verb.parts == nullptr) continue;
      for (const Verb& part : verb.parts()) all.push_back(completed(concat(verb.name, " ", part.name), part));
    }
  return all;
}

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

Verb completion_verb() {
  return {"completion",
          "print a completion script for your shell",
          completion,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Shells};
}

}  // namespace cove::cli
