#pragma once

#include <chrono>

namespace cove::engine {

// Whether the caller of a use case is still there, as its face knows it. One thread.
class CallerPresence {
 public:
  enum class Wake { Ready, Gone, Timeout, Stopping };
  virtual ~CallerPresence() = default;
  // Until `fd` is readable (-1: none), the caller has gone, the server stops, or time is up. Of several, Gone comes
  // first, then Stopping (again at each call), then Ready.
  virtual Wake wait(int fd, std::chrono::milliseconds patience) = 0;
};

}  // namespace cove::engine
