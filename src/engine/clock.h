#pragma once

#include <chrono>
#include <cstdint>

namespace cove::engine {

// Since 1970, as records and events have it.
inline int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
inline int64_t now_ms() { return now_us() / 1000; }

}  // namespace cove::engine
