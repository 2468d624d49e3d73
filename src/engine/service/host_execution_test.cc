#include "engine/service/host_execution.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/service/testing.h"

namespace cove::engine {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Wake = CallerPresence::Wake;
using What = HostOutcome::What;

// A command that has written this, and has ended with that; or goes on until it is killed.
struct Script {
  std::string verdict;
  std::string out;
  std::optional<int> exit_code;
  bool starts = true;
};

class FakeProcess : public HostProcess {
 public:
  FakeProcess(const Script& script, int& kills) : kills_(kills) {
    out = filled(script.out);
    err = filled("");
    verdict = filled(script.verdict);
    if (script.exit_code) end_with(*script.exit_code << 8);
  }
  int end_fd() const override { return end_.get(); }
  Result<HostRunEnd> end() override { return HostRunEnd{status_, {}}; }
  void kill() override {
    ++kills_;
    end_with(SIGKILL);
  }

 private:
  void end_with(int status) {
    status_ = status;
    ::eventfd_write(end_.get(), 1);
  }
  static UniqueFd filled(const std::string& data) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::write(ends[1], data.data(), data.size()), static_cast<ssize_t>(data.size()));
    ::close(ends[1]);
    return UniqueFd(ends[0]);
  }

  int& kills_;
  int status_ = 0;
  UniqueFd end_{::eventfd(0, EFD_CLOEXEC)};
};

class FakeRunner : public HostRunner {
 public:
  explicit FakeRunner(Script script) : script_(std::move(script)) {}
  Result<std::unique_ptr<HostProcess>> start(const HostRunOrder& order, int) override {
    started = order;
    if (!script_.starts) return fail(Code::Unavailable, "cove-host is not there");
    return std::make_unique<FakeProcess>(script_, kills);
  }
  HostRunOrder started;
  int kills = 0;

 private:
  Script script_;
};

HostOrder order_for(Where where) {
  HostOrder order;
  order.order.spec.argv = {"cat", "note"};
  order.order.spec.env = {{"A", "1"}};
  order.workspace = {.path = "/w", .access = Access::ReadWrite};
  order.placement = {where, where == Where::Host ? "mode off" : ""};
  return order;
}

struct Ending {
  HostOutcome outcome;
  int kills = 0;
};
Ending run(Script script, Where where, FakeCaller caller = FakeCaller(), RunSink* sink = nullptr,
           const Limits& limits = Limits()) {
  FakeRunner runner(std::move(script));
  HostOutcome outcome = run_on_host(runner, Caller(), order_for(where), limits, caller, sink).value();
  return {std::move(outcome), runner.kills};
}

TEST(HostExecution, RunsWhatIsFoundHarmlessBehindAFence) {
  FakeRunner runner({"yes it only reads", "hi\n", 3});
  FakeCaller caller;
  const HostOutcome outcome =
      run_on_host(runner, Caller(), order_for(Where::HostIfHarmless), Limits(), caller, nullptr).value();
  EXPECT_EQ(outcome.what, What::Ran);
  EXPECT_EQ(outcome.ran.result.out.data, "hi\n");
  EXPECT_EQ(outcome.ran.result.exit_code, 3);
  EXPECT_EQ(outcome.ran.result.where, "host");
  EXPECT_THAT(outcome.ran.result.why, HasSubstr("mode selective: it only reads; "));
  EXPECT_EQ(runner.started.fence, HostFence::Reading);
  EXPECT_EQ(runner.started.workspace, "/w");
  EXPECT_TRUE(runner.started.env.empty());
}

TEST(HostExecution, WhatIsNotHarmlessIsNotRun) {
  for (const auto& [verdict, why] : {std::pair("no it writes", "mode selective: it writes"),
                                     std::pair("", "mode selective: it could not be judged")}) {
    const Ending ending = run({verdict, "", std::nullopt}, Where::HostIfHarmless);
    EXPECT_EQ(ending.outcome.what, What::NotHarmless);
    EXPECT_EQ(ending.outcome.why, why);
  }
  const Ending unable = run({.verdict = "", .out = "", .exit_code = 0, .starts = false}, Where::HostIfHarmless);
  EXPECT_EQ(unable.outcome.what, What::NotHarmless);
  EXPECT_THAT(unable.outcome.why, HasSubstr("cove-host is not there"));
}

TEST(HostExecution, WithoutAFenceItNeedsNoVerdictAndHasItsVariables) {
  FakeRunner runner({"", "", 0});
  FakeCaller caller;
  EXPECT_TRUE(run_on_host(runner, Caller(), order_for(Where::Host), Limits(), caller, nullptr));
  EXPECT_EQ(runner.started.fence, HostFence::None);
  EXPECT_EQ(runner.started.env.size(), 1u);
  FakeRunner unable({.verdict = "", .out = "", .exit_code = 0, .starts = false});
  EXPECT_FALSE(run_on_host(unable, Caller(), order_for(Where::Host), Limits(), caller, nullptr));
}

TEST(HostExecution, IsKilledWhenItsCallerLeaves) {
  const Ending ending = run({"", "", std::nullopt}, Where::Host, FakeCaller({Wake::Timeout, Wake::Gone}));
  EXPECT_EQ(ending.outcome.what, What::Left);
  EXPECT_EQ(ending.kills, 1);
  FakeSink full(0);
  EXPECT_EQ(run({"", "", std::nullopt}, Where::Host, FakeCaller(), &full).outcome.what, What::Left);
}

TEST(HostExecution, ItsResultIsToldEvenWhenTheServerStops) {
  const Ending ending = run({"", "a", std::nullopt}, Where::Host, FakeCaller({Wake::Stopping}));
  EXPECT_EQ(ending.outcome.what, What::Ran);
  EXPECT_EQ(ending.outcome.ran.result.status, ExecStatus::Killed);
  EXPECT_EQ(ending.outcome.ran.result.out.data, "a");
  FakeSink sink;
  EXPECT_EQ(run({"", "", std::nullopt}, Where::Host, FakeCaller({Wake::Stopping}), &sink).outcome.what, What::Left)
      << "a stream breaks off";
}

TEST(HostExecution, HoldsItsTime) {
  Limits limits;
  limits.timeout.name(milliseconds(20));
  const Ending ending = run({"", "", std::nullopt}, Where::Host, FakeCaller(), nullptr, limits);
  EXPECT_EQ(ending.outcome.ran.result.status, ExecStatus::Timeout);
  EXPECT_EQ(ending.kills, 1);
}

TEST(HostExecution, GivesItsOutputToTheSink) {
  FakeSink sink;
  const Ending ending = run({"", "hi", 0}, Where::Host, FakeCaller(), &sink);
  EXPECT_THAT(sink.notes, ElementsAre("begin", "1 out hi"));
  EXPECT_EQ(ending.outcome.ran.seq, 2u);
}

}  // namespace
}  // namespace cove::engine
