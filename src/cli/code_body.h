#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/json.h"

// Requests with code, or with input, in them.
namespace cove::cli {

inline constexpr size_t kMostInput = 3 << 20;  // of code and input each: the whole request has a bound

// What --lang names; whether there is such a language, the server knows.
Result<std::string> parse_language_name(const std::string& text);

// All of it, at most kMostInput. `what` names it in errors.
Result<std::string> read_text(int fd, const std::string& what);
// Invalid where a word is not UTF-8.
Result<void> check_arguments(const std::vector<std::string>& words);

// The fields language, code and args: the first word is a file, or - for standard input.
Result<void> add_code(Json& body, const std::string& language, const std::vector<std::string>& words);

}  // namespace cove::cli
