#pragma once

#include <cstdint>
#include <string_view>

// The programs that may run on the host, and what each may be told.
namespace cove::harmless {

// What stands in a command beside options.
enum class Operands {
  None,
  Files,             // regular files
  Trees,             // files and folders
  Entries,           // files, folders, and links, which the program does not follow
  Texts,             // words that are not looked up anywhere
  Echo,              // words, after any number of -n
  TimeFormat,        // +FORMAT; any other operand would set the clock
  PatternThenTrees,  // a pattern, unless an option gave it, then files and folders
  FindExpression,    // files and folders, then the tests and actions of find
};

// Lists have names between blanks: one character is a short option, more are a long one. Those of find have one dash.
struct Rule {
  std::string_view name;
  Operands operands = Operands::None;
  bool minus_number = false;      // -5
  bool tells_folder = false;      // prints where the workspace lies
  bool names = false;             // prints names of users, and no file's content
  std::string_view flags = "";    // options without a value
  std::string_view numbers = "";  // options with a number: 5, +5, -5, 5k
  std::string_view texts = "";    // options with a value that is neither a path nor a program
  size_t least = 0;               // operands
  size_t most = 256;
  std::string_view patterns = "";    // options that take the place of the pattern
  std::string_view runs = "";        // the program that does it, where this one is a script around it
  std::string_view always = "";      // arguments put in front
  uint64_t most_bytes = UINT64_MAX;  // of all files together
};

// Null where the program is not on the list.
const Rule* find_rule(std::string_view program);

// Whether `name` is one of a list between blanks.
bool lists(std::string_view list, std::string_view name);

}  // namespace cove::harmless
