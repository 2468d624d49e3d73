#pragma once

#include <cstdint>

#include "layer/layer.h"

namespace cove::native {

inline constexpr int kWatchMilliseconds = 50;

// Whether the processes of the sandbox and its memory file systems (its layer, too, if that is one) hold more than
// `bytes` together. To be called by a process whose root is the sandbox's: it looks into /proc.
bool memory_exceeds(uint64_t bytes, LayerKind layer);

}  // namespace cove::native
