#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Languages that code can be written in: the table that says what runs them, and the choice among what is there.
namespace cove {

// How code is run: what compiles it first, where anything does, and what is executed. The words are filled in by
// `filled`; {version} in the program's own name stands for any version.
struct CommandLine {
  std::vector<std::string> compile;  // empty: nothing is compiled
  std::vector<std::string> run;
  std::string least;  // the lowest version of the program that can do it; empty: any

  // The program whose version is the language's.
  const std::string& program() const { return compile.empty() ? run.front() : compile.front(); }
  bool operator==(const CommandLine&) const = default;
};

// A version that the table knows an image for.
struct LanguageVersion {
  std::string version;  // "3.12"
  std::string image;
  CommandLine command;

  bool operator==(const LanguageVersion&) const = default;
};

struct Language {
  std::string name;
  std::vector<std::string> aliases;
  std::string extension;        // ".py"
  std::string default_version;  // empty: whichever there is
  std::vector<LanguageVersion> versions;
  std::vector<CommandLine>
      commands;  // in the host image, and in images that the table does not know: the first that is there
  std::string version_option = "--version";  // with which a program tells its version, as a shell takes it
  bool file_named_after_class = false;       // as Java's

  bool operator==(const Language&) const = default;
};
using LanguageTable = std::vector<Language>;

const LanguageTable& builtin_languages();
inline constexpr const char* kPython = "python";

// "python", "python@3.10", "py".
struct LanguageWish {
  std::string name;     // as the table has it
  std::string version;  // empty: none was asked for
};
std::string to_text(const LanguageWish& wish);  // "python@3.10"
// Invalid where the table has no such language, with the closest ones as a hint.
Result<LanguageWish> parse_language(const LanguageTable& table, std::string_view text);
Result<const Language*> find_language(const LanguageTable& table, std::string_view name_or_alias);

// Something that runs a language here and now.
struct LanguageOffer {
  std::string version;  // empty: not known
  std::string image;    // "host", or as the table has it
  std::string path;     // of the program, in the host image; else empty
  CommandLine command;
};
// Something that would, after a pull.
struct LanguageAbsence {
  std::string version;
  std::string image;
};

// What was chosen, as a result tells it.
struct LanguageUse {
  std::string name;
  std::string version;  // empty: not known
  std::string image;
  std::string note;  // where it is not what one would expect: why; else empty

  bool operator==(const LanguageUse&) const = default;
};
struct LanguageChoice {
  LanguageUse use;
  CommandLine command;
};

// Of the offers, those of the table's images first: the version that was asked for, else the language's usual one, else
// another one with a note. NotFound where there is none; the hint names those that are to be had. `where` is the image
// that it has to be in; empty: any.
Result<LanguageChoice> choose_language(const Language& language, const std::string& version,
                                       const std::vector<LanguageOffer>& offers,
                                       const std::vector<LanguageAbsence>& absent, const std::string& where);

// What is to be had, for somebody who did not get it.
std::string hint_of(const Language& language, const std::vector<LanguageOffer>& offers,
                    const std::vector<LanguageAbsence>& absent);

// "3.10" is a version 3.10.13, and so is "3".
bool is_version(std::string_view wanted, std::string_view version);
// Number by number.
bool is_older(std::string_view a, std::string_view b);

// {version} replaced.
inline constexpr std::string_view kVersionMark = "{version}";
CommandLine with_version(CommandLine command, std::string_view version);

// Where code and what is made of it lie.
struct CodePlaces {
  std::string file;
  std::string out;         // a program that a compiler makes
  std::string folder;      // for whatever else it makes
  std::string class_name;  // the main one, of Java
};
// {file}, {out}, {dir}, {class} and {stem} (the file's name without its extension) replaced.
std::vector<std::string> filled(const std::vector<std::string>& words, const CodePlaces& places);

// The name of the class that a Java program is started with, with its package; "Main" where there is none.
std::string java_class(std::string_view code);

}  // namespace cove
