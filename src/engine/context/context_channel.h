#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/exec/exec.h"

namespace cove::engine {

// What a context's kernel says: one line of it, with its size.
struct KernelMessage {
  Json body;
  size_t bytes = 0;
  bool unasked = false;    // it was printed before the execution that it is shown to
  bool abandoned = false;  // it is of an execution that nobody waited for to its end
  std::string text(const char* field) const { return body.value(field, ""); }
  std::string type() const { return text("type"); }
  bool is_output() const { return type() == "stdout" || type() == "stderr"; }
};
// Of this type is what stands for a line that was too large to be taken.
inline constexpr const char* kLeftOut = "left_out";

// What is said to a context's kernel, and what it says.
class ContextChannel {
 public:
  using Clock = std::chrono::steady_clock;
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
  Result<std::vector<KernelMessage>> hear();
  // What programs have printed since the last execution, which nobody waited for: the last of it.
  Result<std::vector<KernelMessage>> hear_unasked();
  // What this execution still says is for nobody.
  void abandon(const std::string& execution) { abandoned_.insert(execution); }
  // Until the kernel says that it is ready.
  Result<void> wait_for_ready(std::chrono::milliseconds patience);

 private:
  void take(std::string_view data, std::vector<KernelMessage>& messages);
  void take_line(std::vector<KernelMessage>& messages);
  Result<void> why_not_ready(const std::string& complaint) const;

  std::shared_ptr<Exec> exec_;
  std::unique_ptr<Follower> follower_;
  std::string line_;       // what has no end yet
  size_t line_bytes_ = 0;  // all of it; more than is kept where it is too long
  std::set<std::string> abandoned_;

  mutable std::mutex mutex_;  // of the turn
  std::condition_variable changed_;
  bool busy_ = false;
};

}  // namespace cove::engine
