#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <unordered_map>

namespace cove::net {

// Holds back entries of the log that one event makes twice (the questions for a name's A and AAAA records, the
// datagrams to one address), and floods.
class EntryLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether something of that key is to be logged now.
  bool take(const std::string& key) {
    auto now = Clock::now();
    if (now - emptied_ > kSame) {
      recent_.clear();
      emptied_ = now;
    }
    if (recent_.contains(key)) return false;
    auto refilled = std::chrono::duration<double>(now - last_).count() * kPerSecond;
    tokens_ = std::min(kBurst, tokens_ + refilled);
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    recent_.emplace(key, now);
    return true;
  }

  // What comes now belongs to another event.
  void forget_recent() { recent_.clear(); }

 private:
  static constexpr std::chrono::milliseconds kSame{200};
  static constexpr double kBurst = 500;
  static constexpr double kPerSecond = 50;

  std::unordered_map<std::string, Clock::time_point> recent_;
  Clock::time_point emptied_ = Clock::now();
  Clock::time_point last_ = Clock::now();
  double tokens_ = kBurst;
};

}  // namespace cove::net
