#pragma once

#include <cstdint>

#include "layer/layer.h"

namespace cove::native {

// Between two looks. The longer one takes, the longer the pause, so that a watcher takes little of a CPU.
inline constexpr int kWatchMilliseconds = 50;
inline constexpr int kLongestWatchMilliseconds = 500;

// Whether the processes of the sandbox, memory that they share, its memory file systems (its layer, too, if that is
// one), System V ipc and what waits in its UDP and netlink sockets are more than `bytes` together; or so much has to be
// read to find out that something may hide in it. Shared memory without a file counts with
// seccomp::kMostSharedMapping for each mapping that was made, however little of it is used. To be called by a process
// whose root is the sandbox's: it looks into /proc. It joins the ipc namespace of process 1 (a pidfd), where System V
// ipc is listed.
bool memory_exceeds(uint64_t bytes, LayerKind layer, int process_1);

}  // namespace cove::native
