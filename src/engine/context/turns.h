#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace cove::engine {

// One at a time for each name; others wait.
class Turns {
 public:
  class Turn {
   public:
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), name_(std::move(other.name_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->give_back(name_);
    }

   private:
    friend class Turns;
    Turn(Turns& turns, std::string name) : turns_(&turns), name_(std::move(name)) {}
    Turns* turns_;
    std::string name_;
  };

  Turn take(const std::string& name) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !taken_.contains(name); });
    taken_.insert(name);
    return Turn(*this, name);
  }
  // Nothing where it does not come in time.
  std::optional<Turn> take_within(const std::string& name, std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, patience, [&] { return !taken_.contains(name); })) return std::nullopt;
    taken_.insert(name);
    return Turn(*this, name);
  }

 private:
  void give_back(const std::string& name) {
    {
      std::lock_guard lock(mutex_);
      taken_.erase(name);
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> taken_;
};

}  // namespace cove::engine
