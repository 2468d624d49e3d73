#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/text.h"

// Command-line options in docker's syntax: -e A=1, -eA=1, --env A=1, --env=A=1, -it; `--` or the first operand ends
// them.
namespace cove::cli {

struct OptionInfo {
  std::string_view name;      // "env" of --env
  char letter = '\0';         // 'e' of -e
  std::string_view argument;  // the value's name in the help ("KEY=VALUE"); empty: the option takes none
  std::string_view help;
  std::string_view group;                          // its heading in the help
  std::vector<std::string> (*values)() = nullptr;  // possible values, for completion
};

// An option and how it changes a T.
template <typename T>
struct Option : OptionInfo {
  Result<void> (*set)(T& target, const std::string& value);
};

// One use of an option: its index in the table, how it was written, and its value.
struct GivenOption {
  size_t index;
  std::string spelling;
  std::string value;
};

struct ParsedOptions {
  std::vector<GivenOption> given;
  std::vector<std::string> rest;  // the operands
};

// Whether options may follow the first operand. If that operand starts the user's command, they belong to the command.
enum class Operands { EndOptions, Anywhere };

Result<ParsedOptions> parse_options(const std::vector<OptionInfo>& table, const std::vector<std::string>& args,
                                    Operands operands = Operands::EndOptions);

// The help text for the options, under their headings.
std::string options_help(const std::vector<OptionInfo>& table);

template <typename T>
std::vector<OptionInfo> option_infos(std::span<const Option<T>> table) {
  return {table.begin(), table.end()};
}

template <typename T, size_t N>
std::vector<OptionInfo> option_infos(const Option<T> (&table)[N]) {
  return {table, table + N};
}

template <typename T, size_t N>
std::vector<OptionInfo> option_infos(const std::array<Option<T>, N>& table) {
  return {table.begin(), table.end()};
}

// One table of options and of arrays of them, in this order.
template <typename Part>
inline constexpr size_t kOptionsIn = 1;
template <typename T, size_t N>
inline constexpr size_t kOptionsIn<std::array<Option<T>, N>> = N;
template <typename T, typename... Parts>
constexpr auto option_table(const Parts&... parts) {
  std::array<Option<T>, (kOptionsIn<Parts> + ...)> table{};
  size_t count = 0;
  auto add = [&](const auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Option<T>>)
      table[count++] = part;
    else
      for (const Option<T>& option : part) table[count++] = option;
  };
  (add(parts), ...);
  return table;
}

// Applies the options to `target` in the given order; returns the operands: the command and its arguments.
template <typename T>
Result<std::vector<std::string>> apply_options(std::span<const Option<T>> table, const std::vector<std::string>& args,
                                               T& target, Operands operands = Operands::EndOptions) {
  ParsedOptions parsed = COVE_TRY(parse_options(option_infos(table), args, operands));
  for (const GivenOption& option : parsed.given)
    COVE_TRY_NOTE(option.spelling, table[option.index].set(target, option.value));
  return std::move(parsed.rest);
}

}  // namespace cove::cli
