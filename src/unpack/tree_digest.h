#pragma once

#include <string>

#include "base/result.h"

namespace cove::unpack {

// One digest of all that lies below a folder: names, kinds, modes, owners, times, links, attributes (but for
// overlayfs's own) and content. Two trees have the same one where nobody could tell them apart; 64 hexadecimal digits.
Result<std::string> digest_tree(int root);

}  // namespace cove::unpack
