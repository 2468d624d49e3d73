#pragma once

#include "base/wire.h"
#include "runtime/native/enforcement.h"

// Serializes how a sandbox's limits are enforced, to pass it between processes.
namespace cove::native {

void encode(wire::Writer& out, const Holding& holding);
Holding decode_holding(wire::Reader& in);

}  // namespace cove::native
