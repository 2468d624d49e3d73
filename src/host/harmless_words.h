#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove::harmless {

// Words as every shell would make them of the text. Only plain characters and whole quoted words are understood; the
// error says what is not plain.
Result<std::vector<std::string>> split_plain_words(std::string_view text);

// Of a command that comes as words: a bounded number of bytes, valid UTF-8, no control characters.
Result<void> check_words(const std::vector<std::string>& words);

}  // namespace cove::harmless
