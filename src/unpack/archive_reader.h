#pragma once

#include <string>

#include "base/result.h"
#include "unpack/layer_writer.h"

namespace cove::unpack {

// Unpacks a layer's archive (tar; as it is, or compressed with gzip or zstd) from a descriptor. `diff_id` becomes the
// digest of the archive, uncompressed.
Result<LayerReport> unpack_layer(int archive, LayerWriter& writer, std::string& diff_id);

}  // namespace cove::unpack
