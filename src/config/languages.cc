#include "config/languages.h"

#include <algorithm>

#include "base/text.h"

namespace cove {
namespace {

const std::vector<std::string> kLanguageKeys = {"aliases", "command", "compile", "default", "extension", "versions"};
const std::vector<std::string> kVersionKeys = {"command", "compile", "image"};

// A key with its full name, for messages.
struct Named {
  const ConfigNode& node;
  std::string name;  // "languages.python.default"
};

std::unexpected<Error> refuse(const Named& key, std::string what, std::string advice) {
  return fail(Error(Code::Invalid, concat(key.node.where, ": ", key.name, ": ", what)).hint(std::move(advice)));
}

std::unexpected<Error> unknown(const Named& key, const std::vector<std::string>& keys) {
  std::string near = closest(key.node.key, keys);
  return fail(Error(Code::Invalid, concat(key.node.where, ": unknown setting '", key.name, "'"))
                  .hint(near.empty() ? concat("available: ", join(keys, ", ")) : concat("did you mean '", near, "'?")));
}

Result<std::string> text_of(const Named& key) {
  if (!key.node.is_table && !key.node.is_list && key.node.texts.size() == 1 && !key.node.texts[0].empty())
    return key.node.texts[0];
  return refuse(key, "must be a string", "write it in quotes");
}

// A list of words, or a string that is split at spaces.
Result<std::vector<std::string>> words_of(const Named& key) {
  std::vector<std::string> words;
  if (key.node.is_list) words = key.node.texts;
  if (!key.node.is_list && !key.node.is_table)
    for (const std::string& word : split(COVE_TRY(text_of(key)), ' '))
      if (!word.empty()) words.push_back(word);
  if (words.empty() || words.front().empty())
    return refuse(key, "the command is empty", R"(write a command, like "python3 {file}" or ["python3", "{file}"])");
  return words;
}

bool names_file(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) { return word.find("{file}") != std::string::npos; });
}

// If a command has no placeholder for the code, the code is appended.
void complete(CommandLine& command) {
  if (command.compile.empty() && !command.run.empty() && !names_file(command.run)) command.run.emplace_back("{file}");
  if (!command.compile.empty() && !names_file(command.compile)) command.compile.emplace_back("{file}");
  if (!command.compile.empty() && command.run.empty()) command.run = {"{out}"};
}

Result<LanguageVersion> read_version(const Named& key, const Language& language) {
  LanguageVersion version{key.node.key, "host", {}};
  if (!key.node.is_table)
    return refuse(key, "not a version", R"(write [languages.NAME.versions."VERSION"] with image and command)");
  for (const ConfigNode& each : key.node.below) {
    Named inner{each, concat(key.name, ".", each.key)};
    if (each.key == "image")
      version.image = COVE_TRY(text_of(inner));
    else if (each.key == "command")
      version.command.run = COVE_TRY(words_of(inner));
    else if (each.key == "compile")
      version.command.compile = COVE_TRY(words_of(inner));
    else if (each.is_table)
      return refuse(inner, "a version with a dot must be a single key",
                    concat("write it in quotes: versions.\"", key.node.key, ".", each.key, "\""));
    else
      return unknown(inner, kVersionKeys);
  }
  if (version.command.run.empty() && version.command.compile.empty()) {
    auto plain = std::ranges::find_if(language.commands, [](const CommandLine& command) {
      return command.program().find(kVersionMark) == std::string::npos;
    });
    if (plain == language.commands.end())
      return refuse(key, "the command is missing", R"(add command = "PROGRAM {file}")");
    version.command = *plain;
  }
  complete(version.command);
  return version;
}

Result<void> read_versions(const Named& key, Config& config, Language& language) {
  if (!key.node.is_table) return refuse(key, "not a table", R"(write [languages.NAME.versions."VERSION"])");
  for (const ConfigNode& each : key.node.below) {
    Named inner{each, concat(key.name, ".", each.key)};
    LanguageVersion version = COVE_TRY(read_version(inner, language));
    auto known = std::ranges::find(language.versions, version.version, &LanguageVersion::version);
    known == language.versions.end() ? language.versions.push_back(std::move(version))
                                     : void(*known = std::move(version));
    config.sources[inner.name] = each.where;
  }
  return {};
}

Result<void> read_language(const Named& key, Config& config, Language& language) {
  CommandLine command;
  const ConfigNode* versions = nullptr;
  for (const ConfigNode& each : key.node.below) {
    Named inner{each, concat(key.name, ".", each.key)};
    if (each.key == "default")
      language.default_version = COVE_TRY(text_of(inner));
    else if (each.key == "extension")
      language.extension = COVE_TRY(text_of(inner));
    else if (each.key == "aliases")
      language.aliases = COVE_TRY(words_of(inner));
    else if (each.key == "command")
      command.run = COVE_TRY(words_of(inner));
    else if (each.key == "compile")
      command.compile = COVE_TRY(words_of(inner));
    else if (each.key == "versions")
      versions = &each;
    else
      return unknown(inner, kLanguageKeys);
    config.sources[inner.name] = each.where;
  }
  complete(command);
  if (!command.run.empty()) language.commands = {std::move(command)};
  if (versions != nullptr) COVE_TRY(read_versions({*versions, key.name + ".versions"}, config, language));
  if (!language.commands.empty() || !language.versions.empty()) return {};
  return refuse(key, "there is no command to run it", R"(add command = "PROGRAM {file}")");
}

bool is_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+#_-") == std::string::npos;
}

// Names and aliases of languages must be unique.
Result<void> check_names(const Config& config, const Named& key) {
  std::vector<std::string> words;
  for (const Language& language : config.languages) {
    words.push_back(language.name);
    words.insert(words.end(), language.aliases.begin(), language.aliases.end());
  }
  std::ranges::sort(words);
  auto twice = std::ranges::adjacent_find(words);
  if (twice == words.end()) return {};
  return refuse(key, concat("'", *twice, "' is also a name of another language"), "choose other aliases");
}

std::string text_of(const CommandLine& command) {
  std::string text = join(command.run, " ");
  return command.compile.empty() ? text : concat(join(command.compile, " "), " && ", text);
}

}  // namespace

Result<void> apply_languages(Config& config, const ConfigNode& languages) {
  for (const ConfigNode& each : languages.below) {
    Named key{each, concat("languages.", each.key)};
    if (!each.is_table) return refuse(key, "not a language", "write [languages.NAME] with a command");
    if (!is_name(each.key))
      return refuse(key, "not a valid language name", "use lowercase letters, digits and + # _ -");
    auto known = std::ranges::find(config.languages, each.key, &Language::name);
    Language language;
    language.name = each.key;
    if (known != config.languages.end()) language = *known;
    COVE_TRY(read_language(key, config, language));
    known == config.languages.end() ? config.languages.push_back(std::move(language))
                                    : void(*known = std::move(language));
    COVE_TRY(check_names(config, key));
  }
  return {};
}

std::vector<Setting> language_settings(const Config& config) {
  std::vector<Setting> list;
  auto add = [&](const std::string& name, std::string value, std::string description) {
    auto source = config.sources.find(name);
    const bool own = source != config.sources.end();
    list.push_back(
        {name, value, own ? source->second : "default", own ? "" : value, std::move(description), "text", "", ""});
  };
  for (const Language& language : config.languages) {
    std::string name = concat("languages.", language.name);
    if (!language.default_version.empty())
      add(name + ".default", language.default_version, "The version to use if none is specified.");
    std::vector<std::string> commands;
    for (const CommandLine& command : language.commands) commands.push_back(text_of(command));
    if (!commands.empty())
      add(name + ".command", join(commands, " | "),
          "The command that runs it, in the host image and in images without a version here.");
    for (const LanguageVersion& version : language.versions)
      add(concat(name, ".versions.", version.version), concat(version.image, ": ", text_of(version.command)),
          "The image of this version, and the command that runs it there.");
  }
  return list;
}

}  // namespace cove
