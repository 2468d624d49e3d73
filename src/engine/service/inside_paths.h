#pragma once

#include <string>
#include <string_view>

#include "runtime/view.h"

// Paths inside a sandbox, as its users name them.
namespace cove::engine {

// Without changing what it means to the kernel: "//a/./b/" → "/a/b", but ".." stays.
std::string tidy_path(std::string_view path);
// The path as people are told it: absolute. A relative one is relative to the user's home, where the view is.
std::string absolute_path(View& view, const std::string& path);
// "/a/b" → "/a"; "/a" → "/"; "a" → ".".
std::string folder_of(const std::string& path);

}  // namespace cove::engine
