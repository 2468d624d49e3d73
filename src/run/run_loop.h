#pragma once

#include <chrono>

#include "base/result.h"
#include "run/caller.h"
#include "run/run_once.h"
#include "run/stream.h"
#include "run/verdict.h"
#include "runtime/runtime.h"

namespace cove {

// Runs one exec from its start to its end: streams, the caller's signals, time and output limits.
class RunLoop {
 public:
  RunLoop(Sandbox& sandbox, const RunRequest& request, Caller& caller, Attachment streams);
  // Returns how it ended. Errors are Cove's own failures.
  Result<ExecResult> run();
  // Call afterwards: whether the program's output was written to the caller's streams.
  Result<void> delivered() const;

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> turn();
  int patience() const;
  void on_signals();
  void hang_up();
  Result<void> on_events();
  Result<void> on_event(Event event);
  void on_clock();
  void count_output(uint64_t bytes);
  void end_by_force(Cause cause);
  void finish_streams();
  void conclude(const ExecEnded& end);

  Sandbox& sandbox_;
  const RunRequest& request_;
  Caller& caller_;
  OutputStream out_;
  OutputStream err_;
  InputStream in_;
  Clock::time_point started_;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point end_key_at_;                  // when to press it next
  std::optional<Clock::time_point> hangs_up_at_;  // when to send SIGHUP next
  uint64_t output_bytes_ = 0;
  Cause cause_ = Cause::None;
  bool terminated_ = false;
  bool ended_ = false;
  ExecResult result_;
};

}  // namespace cove
