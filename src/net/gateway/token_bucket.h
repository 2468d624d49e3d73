#pragma once

#include <algorithm>
#include <chrono>

namespace cove::net {

// So many at once, and then so many a second.
class TokenBucket {
 public:
  TokenBucket(double most, double per_second) : most_(most), per_second_(per_second) {}

  bool take() {
    const auto now = Clock::now();
    tokens_ = std::min(most_, tokens_ + std::chrono::duration<double>(now - last_).count() * per_second_);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const double most_;
  const double per_second_;
  double tokens_ = most_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace cove::net
