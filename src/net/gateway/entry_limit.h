#pragma once

#include <chrono>
#include <string>
#include <unordered_set>

#include "net/gateway/token_bucket.h"

namespace cove::net {

// Holds back entries of the log that one event makes twice (the questions for a name's A and AAAA records, the
// datagrams to one address), and floods.
class EntryLimit {
 public:
  // Whether something of that key is to be logged now.
  bool take(const std::string& key) {
    const auto now = Clock::now();
    if (now - emptied_ > kSame) {
      recent_.clear();
      emptied_ = now;
    }
    if (recent_.contains(key) || !tokens_.take()) return false;
    recent_.insert(key);
    return true;
  }

  // What comes now belongs to another event.
  void forget_recent() { recent_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSame{200};

  std::unordered_set<std::string> recent_;
  Clock::time_point emptied_ = Clock::now();
  TokenBucket tokens_{500, 50};
};

}  // namespace cove::net
