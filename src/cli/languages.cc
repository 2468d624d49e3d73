#include "base/text.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "model/language.h"

namespace cove::cli {
namespace {

using client::field;
using client::text_of;

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};

constexpr Form kForm = {
    .verb = "languages",
    .usage = "[OPTIONS]",
    .text =
        "Lists the languages and versions that --lang accepts: those that are ready, in the host image (this\n"
        "machine's own programs) or in another, and those whose image must be pulled. A star marks the default "
        "version.",
};

std::string words_of(const Json& words) {
  std::vector<std::string> list;
  for (const Json& word : words)
    if (word.is_string()) list.push_back(word.get<std::string>());
  return printable(join(list, " "));
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

// The program, or what to do to get it.
std::string what_of(const Json& version) {
  std::string state = text_of(version, "state");
  if (state == "pull") return printable(text_of(version, "pull"));
  if (state == "absent") return "not installed";
  std::string path = text_of(version, "path");
  if (!path.empty()) return printable(path);
  const Json& compile = field(version, "compile");
  return words_of(compile.empty() ? field(version, "command") : compile);
}

std::string table_of(const Json& languages) {
  Table table({"LANGUAGE", "VERSION", "STATE", "IMAGE", "PROGRAM"});
  for (const Json& language : languages)
    for (const Json& version : field(language, "versions")) {
      const bool usual = field(version, "default") == true;
      table.add({printable(text_of(language, "name")), concat(or_dash(text_of(version, "version")), usual ? " *" : ""),
                 printable(text_of(version, "state")), printable(text_of(version, "image")), what_of(version)});
    }
  return table.text();
}

int languages(const Arguments& args) {
  auto words = read_words<CommonOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto found = api->languages();
  if (!found) return complain(found.error());
  return (words->order.json ? print_json(*found) : print(table_of(*found))) ? 0 : kOwnFailure;
}

}  // namespace

std::vector<std::string> languages_of_table() {
  std::vector<std::string> names;
  for (const Language& language : builtin_languages()) {
    names.push_back(language.name);
    for (const LanguageVersion& version : language.versions)
      names.push_back(concat(language.name, "@", version.version));
  }
  return names;
}

Verb languages_verb() {
  return {"languages", "list the supported languages and versions", languages,
          [] { return form_help(kForm, option_infos(kOptions)); }, [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
