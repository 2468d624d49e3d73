#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace cove {

// The description of one setting.
struct ConfigEntry {
  std::string name;      // "admission.sandboxes"
  std::string type;      // "size"
  std::string accepted;  // the accepted values: "a size, like 512m or 2g"
  std::string description;
  bool list = false;          // takes several values
  std::string default_words;  // for defaults that depend on the user
  // Parses strings, exactly one unless it is a list; Invalid.
  std::function<Result<void>(Config&, const std::vector<std::string>&)> set;
  // Formats the value in the form in which it is written.
  std::function<std::string(const Config&)> get;

  std::string section() const;   // "admission"; empty at the top level
  std::string variable() const;  // "COVE_ADMISSION_SANDBOXES"
  std::string flag() const;      // "--admission-sandboxes"
};

const std::vector<ConfigEntry>& config_table();

}  // namespace cove
