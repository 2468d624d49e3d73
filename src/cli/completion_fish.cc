#include "base/text.h"
#include "cli/completion.h"

namespace cove::cli {
namespace {

constexpr std::string_view kHead = R"script(# fish completion for cove; made by `cove completion fish`
function __cove_sandboxes
    COVE_AUTOSTART=0 cove ls -a 2>/dev/null | while read -l id name rest
        test $id = ID; and continue
        test $name = -; and echo $id; or echo $name
    end
end
function __cove_sessions
    COVE_AUTOSTART=0 cove session ls -q 2>/dev/null
end
function __cove_at
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); or return 1
    for i in (seq (count $argv))
        test $words[(math $i + 1)] = $argv[$i]; or return 1
    end
end
function __cove_first
    test (count (commandline -opc)) -eq 1
end
complete -c cove -f
)script";

std::string option_line(const std::string& condition, const OptionInfo& option) {
  std::string line = concat("complete -c cove -n ", shell_quoted(condition), " -l ", option.name);
  if (option.letter != '\0') line += concat(" -s ", option.letter);
  if (option.values != nullptr)
    line += concat(" -x -a ", shell_quoted(join(option.values(), " ")));
  else if (!option.argument.empty())
    line += " -r -F";
  return line + concat(" -d ", shell_quoted(option.help), "\n");
}

std::string_view operands(Completes completes) {
  switch (completes) {
    case Completes::Nothing:
      return "";
    case Completes::Sandboxes:
      return " -a '(__cove_sandboxes)'";
    case Completes::SandboxCommand:
      return " -a '(__cove_sandboxes) (__fish_complete_command)'";
    case Completes::SandboxPaths:
      return " -F -a '(__cove_sandboxes | string replace -r \"$\" \":\")'";
    case Completes::Sessions:
      return " -a '(__cove_sessions)'";
    case Completes::SessionCommand:
      return " -a '(__cove_sessions) (__fish_complete_command)'";
    case Completes::Files:
      return " -F";
    case Completes::Command:
      return " -a '(__fish_complete_command)'";
    case Completes::Verbs:
      return "";
    case Completes::Shells:
      return " -a 'bash zsh fish'";
  }
  return "";
}

}  // namespace

std::string fish_completion(const std::vector<CompletedVerb>& verbs) {
  std::string text(kHead);
  for (const CompletedVerb& verb : verbs) {
    bool part = verb.words.find(' ') != std::string::npos;
    std::string condition = concat("__cove_at ", verb.words);
    if (!part)
      text += concat("complete -c cove -n __cove_first -a ", verb.words, " -d ", shell_quoted(verb.summary), "\n");
    if (!verb.parts.empty()) {
      text +=
          concat("complete -c cove -n ", shell_quoted(condition), " -a ", shell_quoted(join(verb.parts, " ")), "\n");
      continue;
    }
    for (const OptionInfo& option : verb.options) text += option_line(condition, option);
    if (std::string_view words = operands(verb.completes); !words.empty())
      text += concat("complete -c cove -n ", shell_quoted(condition), words, "\n");
  }
  return text;
}

}  // namespace cove::cli
