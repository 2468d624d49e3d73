#pragma once

#include <string>
#include <vector>

#include "config/config.h"

// The part of the configuration that people extend: languages.NAME, with versions below it.
namespace cove {

// A value of the file: texts, or more below it.
struct ConfigNode {
  std::string key;
  std::string where;  // "FILE:LINE"
  bool is_table = false;
  std::vector<std::string> texts;  // one, or those of a list
  bool is_list = false;
  std::vector<ConfigNode> below;
};

// Adds to the languages of `config`, or changes them. Invalid, with the key and what would be accepted.
Result<void> apply_languages(Config& config, const ConfigNode& languages);

// As `cove config show` lists them.
std::vector<Setting> language_settings(const Config& config);

}  // namespace cove
