#include "engine/service/code_run.h"

#include <algorithm>
#include <csignal>

namespace cove::engine {

using std::chrono::milliseconds;
using Wake = CallerPresence::Wake;

// The runner looks at the mark, should the code go on.
Result<void> CodeStop::kill() {
  killed_ = true;
  return signal(SIGINT);
}

CodeRunner::CodeRunner(Parts parts) : parts_(std::move(parts)), deadline_(parts_.deadline) {
  const milliseconds timeout = parts_.limits.timeout.value;
  if (!deadline_ && timeout.count() > 0) deadline_ = Clock::now() + timeout;
}

CodeRunner::End CodeRunner::run() {
  while (!parts_.outcomes.over()) {
    if (!take()) return End::Left;
    if (parts_.outcomes.over()) break;
    parts_.in_use();
    if (!hold_limits()) continue;
    const Wake wake = wait();
    if (wake == Wake::Gone) return End::Left;
    if (wake == Wake::Stopping) return End::Stopping;
  }
  parts_.outcomes.killed = parts_.stop.killed();
  return End::Over;
}

bool CodeRunner::take() {
  Result<std::vector<KernelMessage>> messages = parts_.execution.next();
  if (!messages) return lose();
  for (KernelMessage& message : *messages) {
    // What is printed after too much was is only counted.
    if (message.is_output() && !parts_.outcomes.wrote_too_much())
      message.body["text"] =
          parts_.record.write(message.type() == "stderr" ? Stream::Err : Stream::Out, message.text("text"));
    if (!take(std::move(message))) return false;
  }
  if (!parts_.outcomes.over()) return true;
  for (auto [stream, type] : {std::pair(Stream::Out, "stdout"), std::pair(Stream::Err, "stderr")})
    if (std::string rest = parts_.record.rest(stream); !rest.empty())
      if (!take({{{"type", type}, {"text", std::move(rest)}}})) return false;
  return true;
}

bool CodeRunner::take(KernelMessage message) {
  const bool is_nothing = message.is_output() && message.text("text").empty();
  const bool there = is_nothing || !parts_.sink || pass(message);
  parts_.outcomes.take(std::move(message));
  return there;
}

bool CodeRunner::pass(const KernelMessage& message) {
  RunSink& sink = *parts_.sink;
  const std::string type = message.type();
  if (message.is_output()) {
    if (parts_.outcomes.wrote_too_much()) return true;
    return sink.output({{++seq_, type == "stderr" ? Stream::Err : Stream::Out, message.text("text")}});
  }
  if (type == "result") {
    const auto change = message.body.value("update", false) ? RunSink::Change::Replaces : RunSink::Change::Adds;
    return sink.result(++seq_, result_of(message), change);
  }
  if (type == "clear") return sink.clear(++seq_);
  if (type == "error") return sink.error(++seq_, error_of(message));
  return true;
}

// Where the interpreter has not ended, what it says cannot be understood any more.
bool CodeRunner::lose() {
  if (parts_.execution.interpreter().state == ExecState::Running) static_cast<void>(parts_.execution.kill());
  return parts_.outcomes.lost = true;
}

// First an interrupt, which the code may survive; then the context goes. False where it just did.
bool CodeRunner::hold_limits() {
  const bool late = deadline_ && Clock::now() >= *deadline_;
  if (stopping_ && late) {
    static_cast<void>(parts_.execution.kill());
    parts_.outcomes.lost = true;
    return false;
  }
  const bool killed = parts_.stop.killed();
  if (stopping_ || (!late && !killed && !parts_.outcomes.wrote_too_much())) return true;
  stopping_ = true;
  parts_.outcomes.timed_out = late && !killed;
  deadline_ = Clock::now() + parts_.limits.grace.value;
  static_cast<void>(parts_.execution.interrupt());
  return true;
}

Wake CodeRunner::wait() {
  milliseconds patience = parts_.beat;
  if (deadline_)
    patience = std::clamp(std::chrono::ceil<milliseconds>(*deadline_ - Clock::now()), milliseconds(1), patience);
  return parts_.presence.wait(parts_.execution.fd(), patience);
}

}  // namespace cove::engine
