#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// What a server says, and reading it without exceptions: a field that is missing or of another type is its zero.
namespace cove::client {

// Internal where it is no JSON.
Result<Json> parse_json(std::string_view text);
std::string dump(const Json& json);           // on one line
std::string dump_indented(const Json& json);  // two spaces

const Json& field(const Json& json, std::string_view name);  // null where there is none
std::string text_of(const Json& json, std::string_view name);
double number_of(const Json& json, std::string_view name);
uint64_t count_of(const Json& json, std::string_view name);
bool flag_of(const Json& json, std::string_view name);

// The bytes of {"text": …} or {"base64": …}.
Result<std::string> bytes_of(const Json& json);

}  // namespace cove::client
