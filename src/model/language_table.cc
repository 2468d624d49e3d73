#include "model/language.h"

namespace cove {
namespace {

LanguageVersion in_image(std::string version, std::string image, std::vector<std::string> run) {
  return {std::move(version), std::move(image), {{}, std::move(run), {}}};
}

CommandLine plain(std::vector<std::string> run) { return {{}, std::move(run), {}}; }

CommandLine compiled(std::vector<std::string> compile, std::vector<std::string> run = {"{out}"}) {
  return {std::move(compile), std::move(run), {}};
}

Language python() {
  Language language{.name = kPython, .aliases = {"py", "python3"}, .extension = ".py", .default_version = "3.12"};
  for (const char* version : {"3.10", "3.11", "3.12"})
    language.versions.push_back(in_image(version, std::string("python:") + version + "-slim", {"python3", "{file}"}));
  language.commands = {plain({"python3", "{file}"}), plain({"python{version}", "{file}"})};
  return language;
}

Language javascript() {
  Language language{
      .name = "javascript", .aliases = {"js", "node", "nodejs"}, .extension = ".js", .default_version = "20"};
  for (const char* version : {"18", "20", "22"})
    language.versions.push_back(in_image(version, std::string("node:") + version + "-slim", {"node", "{file}"}));
  language.commands = {plain({"node", "{file}"})};
  return language;
}

// Node takes the types out by itself; its version is the language's then.
Language typescript() {
  const std::vector<std::string> stripping = {"node", "--experimental-strip-types",
                                              "--disable-warning=ExperimentalWarning", "{file}"};
  Language language{.name = "typescript", .aliases = {"ts"}, .extension = ".ts"};
  language.versions = {in_image("22", "node:22-slim", stripping)};
  language.commands = {{{}, stripping, "22.6"},
                       compiled({"tsc", "--target", "es2022", "--module", "commonjs", "--outDir", "{dir}", "{file}"},
                                {"node", "{dir}/{stem}.js"}),
                       plain({"tsx", "{file}"}),
                       plain({"ts-node", "{file}"})};
  return language;
}

Language c() {
  Language language{.name = "c", .extension = ".c"};
  for (const char* program : {"gcc", "gcc-{version}", "clang", "cc"})
    language.commands.push_back(compiled({program, "-o", "{out}", "{file}", "-lm"}));
  return language;
}

Language cpp() {
  Language language{.name = "cpp", .aliases = {"c++", "cxx"}, .extension = ".cpp"};
  for (const char* program : {"g++", "g++-{version}", "clang++", "c++"})
    language.commands.push_back(compiled({program, "-o", "{out}", "{file}"}));
  return language;
}

Language java() {
  Language language{.name = "java", .extension = ".java", .file_named_after_class = true};
  language.commands = {compiled({"javac", "-d", "{dir}", "{file}"}, {"java", "-cp", "{dir}", "{class}"})};
  return language;
}

}  // namespace

const LanguageTable& builtin_languages() {
  static const LanguageTable kTable = {
      python(),
      javascript(),
      typescript(),
      {.name = "bash", .aliases = {"sh", "shell"}, .extension = ".sh", .commands = {plain({"bash", "{file}"})}},
      {.name = "go",
       .aliases = {"golang"},
       .extension = ".go",
       .commands = {compiled({"go", "build", "-o", "{out}", "{file}"})},
       .version_option = "version"},
      {.name = "rust",
       .aliases = {"rs"},
       .extension = ".rs",
       .commands = {compiled({"rustc", "--edition", "2021", "--crate-name", "main", "-o", "{out}", "{file}"})}},
      {.name = "ruby",
       .aliases = {"rb"},
       .extension = ".rb",
       .commands = {plain({"ruby", "{file}"}), plain({"ruby{version}", "{file}"})}},
      java(),
      c(),
      cpp(),
      {.name = "php", .extension = ".php", .commands = {plain({"php", "{file}"}), plain({"php{version}", "{file}"})}},
      {.name = "perl",
       .aliases = {"pl"},
       .extension = ".pl",
       .commands = {plain({"perl", "{file}"})},
       .version_option = R"(-e 'printf "%vd", $^V')"},
      {.name = "r", .aliases = {"rscript"}, .extension = ".R", .commands = {plain({"Rscript", "{file}"})}},
      {.name = "lua",
       .extension = ".lua",
       .commands = {plain({"lua", "{file}"}), plain({"lua{version}", "{file}"})},
       .version_option = "-v"},
  };
  return kTable;
}

}  // namespace cove
