#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cove {

// What tells at a look whose credential a value is: "ghp_", "sk-ant-api03-". Empty for others.
std::string_view known_prefix(std::string_view value);

// Stands for a value where that must not be: it has the same length and the same well-known prefix, and where the value
// has a letter or a digit, a random one; programs that check the form of their credentials take it. It is neither the
// value nor one of `others`, none of them is in it, and it is in none of them. Empty for a value of less than
// kLeastBrokered bytes.
inline constexpr size_t kLeastBrokered = 8;
std::string make_placeholder(std::string_view value, const std::vector<std::string_view>& others);

// Whether the placeholder of one value can stand for the other one.
bool same_shape(std::string_view placeholder, std::string_view value);

}  // namespace cove
