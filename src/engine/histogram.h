#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "engine/engine.h"

namespace cove::engine {

// Durations, counted by upper bounds. Thread-safe.
class Histogram {
 public:
  void add(double seconds) {
    size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    counts_[bucket].fetch_add(1, std::memory_order_relaxed);
    sum_us_.fetch_add(static_cast<uint64_t>(seconds * 1e6), std::memory_order_relaxed);
  }

  Engine::Counts::Histogram read() const {
    Engine::Counts::Histogram read;
    read.bounds.assign(kBounds.begin(), kBounds.end());
    uint64_t so_far = 0;
    for (const auto& count : counts_) read.counts.push_back(so_far += count.load(std::memory_order_relaxed));
    read.count = so_far;
    read.sum = static_cast<double>(sum_us_.load(std::memory_order_relaxed)) / 1e6;
    return read;
  }

 private:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
                                                     0.2,   0.5,   1,     2,    5,    30,   300};
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<uint64_t> sum_us_ = 0;
};

}  // namespace cove::engine
