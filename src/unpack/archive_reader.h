#pragma once

#include <string>

#include "base/result.h"
#include "unpack/layer_writer.h"

namespace cove::unpack {

// Unpacks a layer's archive (tar, optionally compressed with gzip or zstd) from a descriptor. Sets `diff_id` to the
// digest of the uncompressed archive.
Result<LayerReport> unpack_layer(int archive, LayerWriter& writer, std::string& diff_id);

}  // namespace cove::unpack
