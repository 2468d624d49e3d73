#pragma once

#include <string>
#include <vector>

#include "config/config.h"

// The part of the configuration that users extend: languages.NAME, with versions below it.
namespace cove {

// A value of the file: strings, or a table.
struct ConfigNode {
  std::string key;
  std::string where;  // "FILE:LINE"
  bool is_table = false;
  std::vector<std::string> texts;  // one, or the items of a list
  bool is_list = false;
  std::vector<ConfigNode> below;
};

// Adds or changes languages of `config`. Invalid, with the key and what is accepted.
Result<void> apply_languages(Config& config, const ConfigNode& languages);

// The entries for `cove config show`.
std::vector<Setting> language_settings(const Config& config);

}  // namespace cove
