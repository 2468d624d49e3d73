#include "base/text.h"
#include "cli/completion.h"

namespace cove::cli {
namespace {

constexpr std::string_view kHead = R"script(# bash completion for cove; made by `cove completion bash`
_cove_sandboxes() {
  local id name rest
  COVE_AUTOSTART=0 cove ls -a 2>/dev/null | while read -r id name rest; do
    [[ $id == ID ]] && continue
    [[ $name == - ]] && printf '%s\n' "$id" || printf '%s\n' "$name"
  done
}

_cove_sessions() { COVE_AUTOSTART=0 cove session ls -q 2>/dev/null; }

_cove() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local key=${COMP_WORDS[1]} first=2 options='' valued='' parts='' choices='' kind=nothing
  COMPREPLY=()
)script";

constexpr std::string_view kTail = R"script(  if [[ -n $parts && $COMP_CWORD -eq 2 ]]; then
    COMPREPLY=($(compgen -W "$parts" -- "$cur"))
    return
  fi
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
    return
  fi
  if [[ -n $choices ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
    return
  fi
  if [[ " $valued " == *" $prev "* ]]; then
    COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  case $kind in
    sandboxes) COMPREPLY=($(compgen -W "$(_cove_sandboxes)" -- "$cur")) ;;
    sandbox-command)
      COMPREPLY=($(compgen -W "$(_cove_sandboxes)" -- "$cur"))
      ((COMP_CWORD > first)) && COMPREPLY+=($(compgen -c -- "$cur"))
      ;;
    sandbox-paths)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -S : -W "$(_cove_sandboxes)" -- "$cur") $(compgen -f -- "$cur"))
      ;;
    sessions) COMPREPLY=($(compgen -W "$(_cove_sessions)" -- "$cur")) ;;
    session-command)
      COMPREPLY=($(compgen -W "$(_cove_sessions)" -- "$cur"))
      ((COMP_CWORD > first)) && COMPREPLY+=($(compgen -c -- "$cur"))
      ;;
    command) COMPREPLY=($(compgen -c -- "$cur")) ;;
    files) COMPREPLY=($(compgen -f -- "$cur")) ;;
    verbs) COMPREPLY=($(compgen -W "$verbs" -- "$cur")) ;;
    shells) COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur")) ;;
  esac
}
complete -F _cove cove
)script";

std::string_view kind_of(Completes completes) {
  switch (completes) {
    case Completes::Nothing:
      return "nothing";
    case Completes::Sandboxes:
      return "sandboxes";
    case Completes::SandboxCommand:
      return "sandbox-command";
    case Completes::SandboxPaths:
      return "sandbox-paths";
    case Completes::Sessions:
      return "sessions";
    case Completes::SessionCommand:
      return "session-command";
    case Completes::Files:
      return "files";
    case Completes::Command:
      return "command";
    case Completes::Verbs:
      return "verbs";
    case Completes::Shells:
      return "shells";
  }
  return "nothing";
}

void add_spellings(std::vector<std::string>& words, const OptionInfo& option) {
  words.push_back(concat("--", option.name));
  if (option.letter != '\0') words.push_back(concat('-', option.letter));
}

std::string case_of(const CompletedVerb& verb) {
  std::vector<std::string> options, valued;
  std::string choices;
  for (const OptionInfo& option : verb.options) {
    add_spellings(options, option);
    if (!option.argument.empty()) add_spellings(valued, option);
    if (option.values != nullptr)
      choices +=
          concat("\n      [[ $prev == --", option.name, " ]] && choices=", shell_quoted(join(option.values(), " ")));
  }
  std::string text = concat("    ", shell_quoted(verb.words), ")");
  if (!verb.parts.empty()) return text + concat(" parts=", shell_quoted(join(verb.parts, " ")), " ;;\n");
  return text + concat("\n      options=", shell_quoted(join(options, " ")),
                       "\n      valued=", shell_quoted(join(valued, " ")), "\n      kind=", kind_of(verb.completes),
                       choices, "\n      ;;\n");
}

}  // namespace

std::string bash_completion(const std::vector<CompletedVerb>& verbs) {
  std::vector<std::string> first, with_parts;
  for (const CompletedVerb& verb : verbs) {
    if (verb.words.find(' ') == std::string::npos) first.push_back(verb.words);
    if (!verb.parts.empty()) with_parts.push_back(verb.words);
  }
  std::string text(kHead);
  text += concat("  local verbs=", shell_quoted(join(first, " ")), "\n");
  text += "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n    return\n  fi\n";
  text += concat("  case $key in ", join(with_parts, " | "),
                 ") ((COMP_CWORD > 2)) && key=\"$key ${COMP_WORDS[2]}\" first=3 ;; esac\n");
  text += "  case $key in\n";
  for (const CompletedVerb& verb : verbs) text += case_of(verb);
  return text + "  esac\n" + std::string(kTail);
}

}  // namespace cove::cli
