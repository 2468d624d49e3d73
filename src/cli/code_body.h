#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/json.h"

// Requests that contain code or input.
namespace cove::cli {

inline constexpr size_t kMostInput = 3 << 20;  // of code and input each: the size of a request is limited

// The value of --lang. The server checks whether the language exists.
Result<std::string> parse_language_name(const std::string& text);

// Reads to the end, at most kMostInput bytes. `what` names the input in errors.
Result<std::string> read_text(int fd, const std::string& what);
// Invalid if a word is not UTF-8.
Result<void> check_arguments(const std::vector<std::string>& words);

// The fields language, code and args: the first word is a file, or - for standard input.
Result<void> add_code(Json& body, const std::string& language, const std::vector<std::string>& words);

}  // namespace cove::cli
