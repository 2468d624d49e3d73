#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace cove::api {

// What the server's own requests come to, for Prometheus. Thread-safe.
class Metrics {
 public:
  void count(const std::string& method, const std::string& route, int status, std::chrono::nanoseconds took);
  // In the text format of Prometheus.
  std::string text() const;

 private:
  struct Taken {
    std::vector<uint64_t> buckets;  // as many as bounds, and one for all
    double sum = 0;
    uint64_t count = 0;
  };
  using Route = std::pair<std::string, std::string>;  // method, pattern
  mutable std::mutex mutex_;
  std::map<std::pair<Route, int>, uint64_t> statuses_;
  std::map<Route, Taken> times_;
};

// The engine's counts in the same format.
std::string metrics_text(const engine::Engine::Counts& counts);

}  // namespace cove::api
