#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs.h"

// Scripts for shells, made of the tables of verbs and options.
namespace cove::cli {

// A verb, or a verb and its part, as a shell sees it.
struct CompletedVerb {
  std::string words;  // "run", "fs ls"
  std::string_view summary;
  std::vector<OptionInfo> options;
  Completes completes = Completes::Nothing;
  std::vector<std::string> parts;  // of a verb that has some; then it has no options
};
std::vector<CompletedVerb> completed_verbs();

std::string bash_completion(const std::vector<CompletedVerb>& verbs);
std::string zsh_completion(const std::vector<CompletedVerb>& verbs);
std::string fish_completion(const std::vector<CompletedVerb>& verbs);

// In single quotes; of a help of several lines, as one.
std::string shell_quoted(std::string_view text);

}  // namespace cove::cli
