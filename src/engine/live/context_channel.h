#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/live/exec.h"

namespace cove::live {

// What is said to a context's kernel, and what it says.
class ContextChannel {
 public:
  using Clock = std::chrono::steady_clock;
  using Json = nlohmann::json;
  // Hears what the exec writes from this chunk on.
  static Result<std::shared_ptr<ContextChannel>> open(std::shared_ptr<Exec> exec, uint64_t from);

  // Whoever has the turn alone may use the rest. False where nobody wanted it any more, or it took too long.
  bool take_turn(Clock::time_point until, const std::function<bool()>& is_wanted);
  void give_turn();
  bool busy() const;

  Exec& exec() { return *exec_; }
  int fd() const { return follower_->fd(); }

  Result<void> say(const Json& request);
  // What the kernel has said meanwhile.
  Result<std::vector<Json>> hear();
  // Until the kernel says that it is ready.
  Result<void> wait_for_ready(std::chrono::milliseconds patience);

 private:
  void take_lines(std::vector<Json>& messages);
  Result<void> why_not_ready(const std::string& complaint) const;

  std::shared_ptr<Exec> exec_;
  std::unique_ptr<Follower> follower_;
  std::string line_;  // what has no end yet

  mutable std::mutex mutex_;  // of the turn
  std::condition_variable changed_;
  bool busy_ = false;
};

}  // namespace cove::live
