#pragma once

#include <string>

#include "base/result.h"

namespace cove {

// A configuration file's text with one setting changed or added; all else, comments included, is as it was. `value` is
// written as for a flag: a list has commas. NotFound where there is no such setting; Invalid where the text is no TOML.
Result<std::string> with_setting(const std::string& text, const std::string& name, const std::string& value);

}  // namespace cove
