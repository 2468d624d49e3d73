#pragma once

#include <cstdint>
#include <string_view>

// The programs that may run on the host, and their accepted arguments.
namespace cove::harmless {

// The operands of a command.
enum class Operands {
  None,
  Files,             // regular files
  Trees,             // files and folders
  Entries,           // files, folders and links, which the program does not follow
  Texts,             // words that are not paths
  Echo,              // words, after any number of -n
  TimeFormat,        // +FORMAT; any other operand would set the clock
  PatternThenTrees,  // a pattern, unless an option gave it, then files and folders
  FindExpression,    // files and folders, then the tests and actions of find
};

// Lists contain names separated by spaces: one character is a short option, more are a long one. Those of find have one
// dash.
struct Rule {
  std::string_view name;
  Operands operands = Operands::None;
  bool minus_number = false;      // -5
  bool tells_folder = false;      // prints the path of the workspace
  bool names = false;             // prints names of users, and no file contents
  std::string_view flags = "";    // options without a value
  std::string_view numbers = "";  // options with a number: 5, +5, -5, 5k
  std::string_view texts = "";    // options with a value that is neither a path nor a program
  size_t least = 0;               // operands
  size_t most = 256;
  std::string_view patterns = "";    // options that replace the pattern
  std::string_view runs = "";        // the actual program, if this one is a wrapper script
  std::string_view always = "";      // arguments inserted first
  uint64_t most_bytes = UINT64_MAX;  // total of all files
};

// Null if the program is not on the list.
const Rule* find_rule(std::string_view program);

// Whether `name` is in a list separated by spaces.
bool lists(std::string_view list, std::string_view name);

}  // namespace cove::harmless
