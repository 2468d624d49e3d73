#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove::harmless {

// Splits text into words as every shell would. Only plain characters and whole quoted words are supported; the error
// names what is not.
Result<std::vector<std::string>> split_plain_words(std::string_view text);

// Checks a command given as words: limited size, valid UTF-8, no control characters.
Result<void> check_words(const std::vector<std::string>& words);

}  // namespace cove::harmless
