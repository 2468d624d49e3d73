#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

// Parsing of arguments and printing of help, shared by the verbs.
namespace cove::cli {

inline constexpr size_t kMany = SIZE_MAX;

// The syntax of a verb.
struct Form {
  std::string_view verb;   // "fs ls"
  std::string_view usage;  // what follows it: "[OPTIONS] SANDBOX…"; several lines for several forms
  std::string_view text;   // what it does
  size_t least = 0;        // operands
  size_t most = 0;
  Operands operands = Operands::Anywhere;
  std::string_view more = "";  // printed after the options: examples
};

std::string form_help(const Form& form, const std::vector<OptionInfo>& options);
// Invalid if there are too few or too many operands.
Result<void> check_operands(const Form& form, const std::vector<std::string>& operands);

// The options of every verb.
struct CommonOrder {
  bool help = false;
  bool json = false;
  std::string project;
};

template <typename T>
inline constexpr Option<T> kHelpOption = {{"help", 'h', "", "print this help", "Other"},
                                          [](T& order, const std::string&) -> Result<void> {
                                            order.help = true;
                                            return {};
                                          }};
template <typename T>
inline constexpr Option<T> kJsonOption = {{"json", '\0', "", "print JSON", "Other"},
                                          [](T& order, const std::string&) -> Result<void> {
                                            order.json = true;
                                            return {};
                                          }};
template <typename T>
inline constexpr Option<T> kProjectOption = {
    {"project", '\0', "NAME", "the project to work in (default: $COVE_PROJECT, or default)", "Other"},
    [](T& order, const std::string& text) -> Result<void> {
      order.project = text;
      return {};
    }};

// The operands and the parsed options; or the exit code, if there is nothing more to do.
template <typename T>
struct Words {
  T order;
  std::vector<std::string> operands;
};
template <typename T>
std::expected<Words<T>, int> read_words(const Form& form, std::span<const Option<T>> options, const Arguments& args) {
  Words<T> words;
  auto operands = apply_options(options, args, words.order, form.operands);
  if (!operands) return std::unexpected(complain(operands.error()));
  if (words.order.help) return std::unexpected(print(form_help(form, option_infos(options))) ? 0 : kOwnFailure);
  if (auto checked = check_operands(form, *operands); !checked) return std::unexpected(complain(checked.error()));
  words.operands = std::move(*operands);
  return words;
}

}  // namespace cove::cli
