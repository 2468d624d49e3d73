#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "client/connection.h"
#include "client/pack.h"
#include "tar/reader.h"

namespace cove::client {

struct Unpacked {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Unpacks an archive that a sandbox has made into `folder`, an open one of this machine. Nothing is written outside of
// it and no link is followed on the way. Left out is what could harm the caller later: devices, links that lead out of
// the folder, names with ".."; and of the modes, set-id bits.
Result<Unpacked> unpack(tar::Reader::Source archive, int folder, const LeftOut& left_out, const Progress& progress);

// Whether a link at `name` (a path below the folder) to `target` stays below the folder, whatever other links there
// are.
bool stays_below(const std::string& name, const std::string& target);

}  // namespace cove::client
