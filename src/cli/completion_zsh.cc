#include "base/text.h"
#include "cli/completion.h"

namespace cove::cli {
namespace {

constexpr std::string_view kHead = R"script(#compdef cove
# zsh completion for cove; made by `cove completion zsh`
_cove_sandboxes() {
  local -a names
  local id name rest
  COVE_AUTOSTART=0 cove ls -a 2>/dev/null | while read -r id name rest; do
    [[ $id == ID ]] && continue
    [[ $name == - ]] && names+=($id) || names+=($name)
  done
  compadd "$@" -a names
}
_cove_sessions() {
  local -a names=(${(f)"$(COVE_AUTOSTART=0 cove session ls -q 2>/dev/null)"})
  compadd "$@" -a names
}
_cove_sandbox_paths() {
  _alternative 'sandboxes:sandbox:_cove_sandboxes -S :' 'files:file:_files'
}

)script";

// Brackets and colons mean something in a specification.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action(const OptionInfo& option) {
  if (option.argument.empty()) return "";
  if (option.values != nullptr) return concat(":", escaped(option.argument), ":(", join(option.values(), " "), ")");
  return concat(":", escaped(option.argument), ":_files");
}

// -m and --memory exclude nothing: options can be repeated.
std::string option_specs(const OptionInfo& option) {
  std::string help = concat("[", escaped(option.help), "]", action(option));
  std::string_view joint = option.argument.empty() ? "" : "=";
  std::string specs = concat("    ", shell_quoted(concat("*--", option.name, joint, help)), " \\\n");
  if (option.letter != '\0')
    specs +=
        concat("    ", shell_quoted(concat("*-", option.letter, option.argument.empty() ? "" : "+", help)), " \\\n");
  return specs;
}

std::string_view operands(Completes completes) {
  switch (completes) {
    case Completes::Nothing:
      return "'*: :'";
    case Completes::Sandboxes:
      return "'*:sandbox:_cove_sandboxes'";
    case Completes::SandboxCommand:
      return "'1:sandbox:_cove_sandboxes' '*::command:_normal'";
    case Completes::SandboxPaths:
      return "'*:path:_cove_sandbox_paths'";
    case Completes::Sessions:
      return "'*:session:_cove_sessions'";
    case Completes::SessionCommand:
      return "'1:session:_cove_sessions' '*::command:_normal'";
    case Completes::Files:
      return "'*:file:_files'";
    case Completes::Command:
      return "'*::command:_normal'";
    case Completes::Verbs:
      return "'1:verb:($_cove_verb_names)'";
    case Completes::Shells:
      return "'1:shell:(bash zsh fish)'";
  }
  return "";
}

std::string case_of(const CompletedVerb& verb) {
  std::string text = concat("  ", shell_quoted(verb.words), ")\n");
  if (!verb.parts.empty())
    return text + concat("    _arguments '1:verb:(", join(verb.parts, " "), ")' '*: :'\n    ;;\n");
  text += "    _arguments -s \\\n";
  for (const OptionInfo& option : verb.options) text += option_specs(option);
  return text + concat("    ", operands(verb.completes), "\n    ;;\n");
}

}  // namespace

std::string zsh_completion(const std::vector<CompletedVerb>& verbs) {
  std::string names, described, with_parts;
  for (const CompletedVerb& verb : verbs) {
    if (!verb.parts.empty()) with_parts += concat(with_parts.empty() ? "" : "|", verb.words);
    if (verb.words.find(' ') != std::string::npos) continue;
    names += concat(" ", verb.words);
    described += concat("    ", shell_quoted(concat(verb.words, ":", escaped(verb.summary))), "\n");
  }
  std::string text(kHead);
  text +=
      concat("_cove() {\n  local _cove_verb_names=", shell_quoted(names), "\n  local -a verbs=(\n", described, "  )\n");
  text += "  if ((CURRENT == 2)); then\n    _describe verb verbs\n    return\n  fi\n";
  text += "  local key=$words[2]\n  shift words\n  ((CURRENT--))\n";
  text += concat("  if [[ $key == (", with_parts, ") ]] && ((CURRENT > 2)); then\n",
                 "    key=\"$key $words[2]\"\n    shift words\n    ((CURRENT--))\n  fi\n");
  text += "  case $key in\n";
  for (const CompletedVerb& verb : verbs) text += case_of(verb);
  return text + "  esac\n}\n\nif [[ $funcstack[1] == _cove ]]; then\n  _cove \"$@\"\nelse\n  compdef _cove cove\nfi\n";
}

}  // namespace cove::cli
