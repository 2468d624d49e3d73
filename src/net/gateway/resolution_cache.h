#pragma once

#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "net/gateway/resolver.h"

namespace cove::net {

// The names that were resolved, and until when they are pinned.
class ResolutionCache {
 public:
  static constexpr size_t kMost = 8192;  // then the oldest makes room

  // Valid until the next call.
  const Resolution* find(const std::string& name) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return nullptr;
    if (found->second->until > Loop::Clock::now()) return &found->second->resolution;
    forget(name);
    return nullptr;
  }
  void put(const std::string& name, Resolution resolution, Loop::Clock::duration time) {
    forget(name);
    if (entries_.size() >= kMost) {
      by_name_.erase(entries_.front().name);
      entries_.pop_front();
    }
    entries_.push_back({name, std::move(resolution), Loop::Clock::now() + time});
    by_name_.emplace(name, std::prev(entries_.end()));
  }
  void clear() {
    by_name_.clear();
    entries_.clear();
  }

 private:
  void forget(const std::string& name) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    entries_.erase(found->second);
    by_name_.erase(found);
  }

  struct Entry {
    std::string name;
    Resolution resolution;
    Loop::Clock::time_point until;
  };
  std::list<Entry> entries_;  // the oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_name_;
};

}  // namespace cove::net
