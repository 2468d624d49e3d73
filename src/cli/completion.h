#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs.h"

// Completion scripts for shells, generated from the tables of verbs and options.
namespace cove::cli {

// A verb, or a verb and its part, as a shell sees it.
struct CompletedVerb {
  std::string words;  // "run", "fs ls"
  std::string_view summary;
  std::vector<OptionInfo> options;
  Completes completes = Completes::Nothing;
  std::vector<std::string> parts;  // its subcommands, if any; such a verb has no options
};
std::vector<CompletedVerb> completed_verbs();

std::string bash_completion(const std::vector<CompletedVerb>& verbs);
std::string zsh_completion(const std::vector<CompletedVerb>& verbs);
std::string fish_completion(const std::vector<CompletedVerb>& verbs);

// In single quotes; several lines of help are joined into one.
std::string shell_quoted(std::string_view text);

}  // namespace cove::cli
