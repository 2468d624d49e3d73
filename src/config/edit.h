#pragma once

#include <string>

#include "base/result.h"

namespace cove {

// A configuration file's text with one setting changed or added; everything else, including comments, is unchanged.
// `value` is written as for a flag: a list has commas. NotFound for an unknown setting; Invalid if the text is not
// TOML.
Result<std::string> with_setting(const std::string& text, const std::string& name, const std::string& value);

}  // namespace cove
