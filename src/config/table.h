#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace cove {

// One setting: all that is known about it.
struct ConfigEntry {
  std::string name;      // "admission.sandboxes"
  std::string type;      // "size"
  std::string accepted;  // what a value looks like: "a size, like 512m or 2g"
  std::string description;
  bool list = false;          // takes several values
  std::string default_words;  // where the default depends on the user
  // From texts, exactly one unless it is a list; Invalid.
  std::function<Result<void>(Config&, const std::vector<std::string>&)> set;
  // As one would write it.
  std::function<std::string(const Config&)> get;

  std::string section() const;   // "admission"; empty for those at the top
  std::string variable() const;  // "COVE_ADMISSION_SANDBOXES"
  std::string flag() const;      // "--admission-sandboxes"
};

const std::vector<ConfigEntry>& config_table();

}  // namespace cove
