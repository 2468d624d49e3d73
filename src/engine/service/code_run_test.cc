#include "engine/service/code_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <csignal>
#include <deque>

#include "engine/service/testing.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Wake = CallerPresence::Wake;

KernelMessage message(Json body) {
  const size_t size = body.dump().size();
  return {std::move(body), size};
}
KernelMessage printed(const char* text) { return message({{"type", "stdout"}, {"text", text}}); }
KernelMessage done(const char* status) { return message({{"type", "done"}, {"status", status}}); }

// Says what it is told to, turn by turn; then nothing, or that the interpreter has gone.
class FakeExecution : public Execution {
 public:
  explicit FakeExecution(std::deque<std::vector<KernelMessage>> says) : says_(std::move(says)) {}

  const std::string& id() const override { return id_; }
  const std::string& context() const override { return id_; }
  Result<void> begin(const std::string&) override { return {}; }
  Result<std::vector<KernelMessage>> next() override {
    if (interpreter_.state == ExecState::Ended) return fail(Code::Conflict, "it has gone");
    std::vector<KernelMessage> messages;
    if (!says_.empty()) messages = std::move(says_.front()), says_.pop_front();
    return messages;
  }
  int fd() const override { return fd_.get(); }
  Result<void> interrupt() override {
    ++interrupts;
    if (yields) says_.push_back({done("interrupted")});
    return {};
  }
  Result<void> kill() override {
    ++kills;
    interpreter_.state = ExecState::Ended;
    interpreter_.result = ExecResult{.status = ExecStatus::Killed, .signal = 9, .why = "it was ended on request"};
    return {};
  }
  ExecInfo interpreter() const override { return interpreter_; }

  bool yields = true;  // to an interrupt
  int interrupts = 0;
  int kills = 0;

 private:
  std::string id_ = "e";
  UniqueFd fd_{::eventfd(0, EFD_CLOEXEC)};
  std::deque<std::vector<KernelMessage>> says_;
  ExecInfo interpreter_;
};

class FakeRecord : public CodeRecord {
 public:
  std::string write(Stream, std::string_view data) override {
    written += data;
    return std::string(data);
  }
  std::string rest(Stream) override { return {}; }
  void end(ExecResult) override {}
  std::string written;
};

// One run, and what came of it.
struct Tried {
  explicit Tried(std::deque<std::vector<KernelMessage>> says) : execution(std::move(says)) {}

  CodeRunner::End go() {
    CodeRunner runner({.execution = execution,
                       .outcomes = outcomes,
                       .record = record,
                       .stop = stop,
                       .presence = caller,
                       .sink = &sink,
                       .limits = limits,
                       .deadline = std::nullopt,
                       .in_use = [this] { ++uses; },
                       .beat = milliseconds(20)});
    const CodeRunner::End end = runner.run();
    events = runner.events();
    return end;
  }
  ExecResult result() {
    CodeRun run{.exec_id = "e", .context = context, .sandbox = sandbox};
    if (outcomes.lost) run.interpreter_end = execution.interpreter().result;
    return outcomes.result(run);
  }

  FakeExecution execution;
  Limits limits = {.grace = milliseconds(30)};
  CodeOutcomes outcomes{limits};
  FakeRecord record;
  CodeStop stop{nullptr};
  FakeCaller caller;
  FakeSink sink;
  ContextInfo context{.id = "c"};
  SandboxInfo sandbox;
  int uses = 0;
  uint64_t events = 0;
};

TEST(CodeRunner, GivesWhatTheCodeSaysToAllWhoWantIt) {
  Tried run(
      {{printed("a")}, {message({{"type", "result"}, {"main", true}, {"formats", {{"text", "42"}}}}), done("ok")}});
  EXPECT_EQ(run.go(), CodeRunner::End::Over);
  EXPECT_THAT(run.sink.notes, ElementsAre("1 out a", "2 result 42"));
  EXPECT_EQ(run.record.written, "a");
  EXPECT_EQ(run.events, 2u);
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Success);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.data, "a");
  EXPECT_EQ(result.context_id, "c");
  EXPECT_TRUE(result.results.at(0).main);
  EXPECT_FALSE(result.error);
}

TEST(CodeRunner, TellsWhatTheCodeRaised) {
  Tried run(
      {{message({{"type", "error"}, {"name", "KeyError"}, {"value", "'a'"}, {"traceback", "T"}}), done("error")}});
  EXPECT_EQ(run.go(), CodeRunner::End::Over);
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Error);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.error->name, "KeyError");
  EXPECT_THAT(result.why, HasSubstr("KeyError"));
}

TEST(CodeRunner, InterruptsWhatTakesTooLong) {
  Tried run({});
  run.limits.timeout.name(milliseconds(40));
  EXPECT_EQ(run.go(), CodeRunner::End::Over);
  EXPECT_EQ(run.execution.interrupts, 1);
  EXPECT_EQ(run.execution.kills, 0);
  EXPECT_GT(run.uses, 1) << "it is told at each beat that the session is in use";
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Timeout);
  EXPECT_FALSE(result.exit_code);
}

TEST(CodeRunner, EndsTheContextOfCodeThatSurvivesItsInterrupt) {
  Tried run({});
  run.limits.timeout.name(milliseconds(20));
  run.execution.yields = false;
  EXPECT_EQ(run.go(), CodeRunner::End::Over);
  EXPECT_EQ(run.execution.interrupts, 1);
  EXPECT_EQ(run.execution.kills, 1);
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Timeout);
  EXPECT_EQ(result.signal, 9);
  EXPECT_THAT(result.why, HasSubstr("the context was lost with it"));
}

TEST(CodeRunner, InterruptsWhatWritesTooMuch) {
  Tried run({{printed("abc")}, {printed("def")}});
  run.limits.output.name(2);
  EXPECT_EQ(run.go(), CodeRunner::End::Over);
  EXPECT_EQ(run.result().status, ExecStatus::LimitExceeded);
  EXPECT_EQ(run.record.written, "abc") << "what came after it is only counted";
}

TEST(CodeRunner, EndsWithItsCaller) {
  Tried gone({{printed("a")}}), full({{printed("a")}}), stopping({});
  gone.caller = FakeCaller({Wake::Timeout, Wake::Gone});
  EXPECT_EQ(gone.go(), CodeRunner::End::Left);
  full.sink = FakeSink(0);
  EXPECT_EQ(full.go(), CodeRunner::End::Left);
  stopping.caller = FakeCaller({Wake::Stopping});
  EXPECT_EQ(stopping.go(), CodeRunner::End::Stopping);
  gone.outcomes.abandoned = true;
  const ExecResult result = gone.result();
  EXPECT_EQ(result.status, ExecStatus::Killed);
  EXPECT_EQ(result.out.data, "a") << "what it printed stays on record";
  EXPECT_THAT(result.why, HasSubstr("its caller left"));
}

// An interpreter, for as much of it as a stop needs.
class Interpreter : public Exec {
 public:
  ExecInfo info() const override { return {}; }
  bool ended() const override { return false; }
  std::optional<Error> failure() const override { return std::nullopt; }
  Result<std::unique_ptr<Follower>> follow(uint64_t) override { return fail(Code::Unsupported, ""); }
  Result<UniqueFd> end_fd() override { return UniqueFd(); }
  Result<void> write_input(std::string_view, milliseconds) override { return {}; }
  Result<size_t> offer_input(std::string_view, milliseconds) override { return size_t{0}; }
  Result<void> close_input() override { return {}; }
  Result<void> signal(int number, bool) override {
    signals.push_back(number);
    return {};
  }
  Result<void> resize(WindowSize) override { return {}; }
  Result<void> kill() override { return {}; }
  std::vector<int> signals;
};

TEST(CodeStop, AsksTheInterpreterAndTheRunnerSeesIt) {
  auto interpreter = std::make_shared<Interpreter>();
  CodeStop stop(interpreter);
  ASSERT_TRUE(stop.kill());
  EXPECT_THAT(interpreter->signals, ElementsAre(SIGINT));
  Tried run({});
  CodeRunner runner({.execution = run.execution,
                     .outcomes = run.outcomes,
                     .record = run.record,
                     .stop = stop,
                     .presence = run.caller,
                     .sink = nullptr,
                     .limits = run.limits,
                     .deadline = std::nullopt,
                     .in_use = [] {},
                     .beat = milliseconds(20)});
  EXPECT_EQ(runner.run(), CodeRunner::End::Over);
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Killed);
  EXPECT_THAT(result.why, HasSubstr("on request"));
}

TEST(CodeOutcomes, WhatNeverCameToItsTurnWasNotRun) {
  Tried run({});
  run.outcomes.timed_out = true;
  run.outcomes.begun = false;
  const ExecResult result = run.result();
  EXPECT_EQ(result.status, ExecStatus::Timeout);
  EXPECT_THAT(result.why, HasSubstr("it was not run"));
  EXPECT_THAT(result.results, IsEmpty());
}

}  // namespace
}  // namespace cove::engine
