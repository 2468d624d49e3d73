#pragma once

#include <cstdint>

#include "layer/layer.h"

namespace cove::native {

inline constexpr int kWatchMilliseconds = 50;

// Whether the processes of the sandbox, memory that they share, its memory file systems (its layer, too, if that is
// one) and what waits in its UDP and netlink sockets are more than `bytes` together. To be called by a process whose
// root is the sandbox's: it looks into /proc. It joins the ipc namespace of process 1 (a pidfd), where System V memory
// is listed.
bool memory_exceeds(uint64_t bytes, LayerKind layer, int process_1);

}  // namespace cove::native
