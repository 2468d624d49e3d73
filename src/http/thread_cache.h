#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/result.h"

namespace cove::http {

// Threads that take turns in leading. The leader waits for work; when there is some, it passes the lead on to a thread
// that is idle and does the work itself, so that work does not have to change threads. There is always an idle one,
// made beforehand; those that are too many leave after a while.
//
// The threads have small stacks (256 KiB) and block all signals: SIGPIPE cannot harm them, and signals for the process
// go to the threads that others made.
class Crew {
 public:
  using Work = std::move_only_function<void()>;
  // `lead` blocks until there is work, and returns nothing after the crew was dismissed. Neither it nor the work
  // throws.
  explicit Crew(std::function<Work()> lead);
  ~Crew();  // there is no thread left

  Result<void> start();
  // Nobody takes the lead any more. (Waking the one who has it is the caller's part.)
  void dismiss();
  // Whether all threads have left in time.
  bool wait_until_left(std::chrono::milliseconds patience);

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the threads
};

}  // namespace cove::http
