#pragma once

#include <string>

namespace cove {

// 20 random characters of [a-z0-9], the first a letter: ids appear as DNS labels and folder names.
std::string make_id();

}  // namespace cove
