#pragma once

#include <chrono>
#include <cstdint>

namespace cove::engine {

// The machine's time, since 1970, for those who call the engine. The engine itself goes by its Clock.
inline int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}
inline int64_t now_ms() { return now_us() / 1000; }

}  // namespace cove::engine
