#include "cli/exec_text.h"

#include <vector>

#include "base/text.h"

namespace cove::cli {

using client::text_of;

std::string exec_command(const Json& exec) {
  if (std::string shell = text_of(exec, "shell"); !shell.empty()) return shell;
  std::vector<std::string> words;
  for (const Json& word : client::field(exec, "argv"))
    if (word.is_string()) words.push_back(word.get<std::string>());
  return join(words, " ");
}

std::string exec_state(const Json& exec) {
  const Json& result = client::field(exec, "result");
  if (!result.is_object()) return text_of(exec, "state");
  if (client::field(result, "signal").is_number())
    return concat(text_of(result, "status"), " (signal ", client::count_of(result, "signal"), ")");
  return concat(text_of(result, "status"), " (", client::count_of(result, "exit_code"), ")");
}

}  // namespace cove::cli
