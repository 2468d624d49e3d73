#pragma once

#include <string>

#include "base/result.h"

namespace cove::unpack {

// A digest of everything below a folder: names, kinds, modes, owners, times, links, attributes (except overlayfs's own)
// and content. Only indistinguishable trees have the same digest; 64 hexadecimal digits.
Result<std::string> digest_tree(int root);

}  // namespace cove::unpack
