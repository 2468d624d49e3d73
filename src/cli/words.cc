#include "cli/words.h"

#include "base/text.h"

namespace cove::cli {

std::string form_help(const Form& form, const std::vector<OptionInfo>& options) {
  std::string text;
  for (const std::string& line : split(form.usage, '\n'))
    text += concat(text.empty() ? "Usage: " : "       ", "cove ", form.verb, line.empty() ? "" : " ", line, "\n");
  text += concat("\n", form.text, "\n", options_help(options));
  if (!form.more.empty()) text += concat("\n", form.more, "\n");
  return text;
}

Result<void> check_operands(const Form& form, const std::vector<std::string>& operands) {
  std::string usage = concat("cove ", form.verb, " ", split(form.usage, '\n')[0]);
  if (operands.size() < form.least)
    return fail(
        Error(Code::Invalid, concat("cove ", form.verb, " requires more arguments")).hint(concat("write ", usage)));
  if (operands.size() > form.most)
    return fail(Error(Code::Invalid, concat("unexpected argument '", operands[form.most], "' for cove ", form.verb))
                    .hint(concat("write ", usage)));
  return {};
}

}  // namespace cove::cli
