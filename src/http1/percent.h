#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cove::http1 {

enum class Plus { IsPlus, IsSpace };

// "a%20b" → "a b". Nothing where an escape is malformed or stands for NUL.
std::optional<std::string> percent_decode(std::string_view text, Plus plus = Plus::IsPlus);

// "a=1&b=%2F&c" → {a,1} {b,/} {c,""}; a plus is a space. Nothing where an escape is malformed or stands for NUL.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text);

}  // namespace cove::http1
