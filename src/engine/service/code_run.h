#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "engine/service/caller_presence.h"
#include "engine/service/code_outcomes.h"
#include "engine/service/run_sink.h"

namespace cove::engine {

// Code that is asked to end, by others than the thread that runs it.
class CodeStop : public CodeControl {
 public:
  explicit CodeStop(std::shared_ptr<Exec> interpreter) : interpreter_(std::move(interpreter)) {}
  Result<void> signal(int number) override { return interpreter_->signal(number, false); }
  Result<void> kill() override;
  bool killed() const { return killed_; }

 private:
  std::shared_ptr<Exec> interpreter_;
  std::atomic<bool> killed_ = false;
};

// Runs one piece of code, which has begun in its context, to its end or to that of its caller, and holds its limits.
class CodeRunner {
 public:
  using Clock = std::chrono::steady_clock;
  struct Parts {
    Execution& execution;
    CodeOutcomes& outcomes;
    CodeRecord& record;
    const CodeStop& stop;
    CallerPresence& presence;
    RunSink* sink;  // may be null
    const Limits& limits;
    std::optional<Clock::time_point> deadline;  // else it follows from the limits
    std::function<void()> in_use;               // called each `beat`, at least
    std::chrono::milliseconds beat;
  };
  explicit CodeRunner(Parts parts);

  enum class End { Over, Left, Stopping };
  End run();
  uint64_t events() const { return seq_; }  // that the sink was given

 private:
  bool take();
  bool take(KernelMessage message);
  bool pass(const KernelMessage& message);
  bool lose();
  bool hold_limits();
  CallerPresence::Wake wait();

  Parts parts_;
  std::optional<Clock::time_point> deadline_;
  bool stopping_ = false;
  uint64_t seq_ = 0;
};

}  // namespace cove::engine
