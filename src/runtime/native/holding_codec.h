#pragma once

#include "base/wire.h"
#include "runtime/native/enforcement.h"

// What holds a sandbox's limits, on its way between processes.
namespace cove::native {

void encode(wire::Writer& out, const Holding& holding);
Holding decode_holding(wire::Reader& in);

}  // namespace cove::native
