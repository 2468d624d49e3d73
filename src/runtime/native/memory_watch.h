#pragma once

#include <cstdint>

#include "layer/layer.h"

namespace cove::native {

// Between two checks. The longer a check takes, the longer the pause, so that a watcher uses little CPU.
inline constexpr int kWatchMilliseconds = 50;
inline constexpr int kLongestWatchMilliseconds = 500;

// Whether the sandbox's processes, their shared memory, its memory file systems (its layer, too, if that is one),
// System V IPC and the data queued in its UDP and netlink sockets use more than `bytes` together; also true if there is
// so much to read that memory could be hidden in it. Anonymous shared memory counts as seccomp::kMostSharedMapping for
// each mapping, however little of it is used. Must be called by a process whose root is the sandbox's, because it reads
// /proc. It joins the ipc namespace of process 1 (a pidfd), where System V IPC is listed.
bool memory_exceeds(uint64_t bytes, LayerKind layer, int process_1);

}  // namespace cove::native
