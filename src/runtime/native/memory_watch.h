#pragma once

#include <cstdint>

namespace cove::native {

inline constexpr int kWatchMilliseconds = 50;

// Bytes that the processes of the sandbox hold for themselves, plus what lies in its memory file systems. To be called
// by a process whose root is the sandbox's: it looks into /proc.
uint64_t used_memory();

}  // namespace cove::native
