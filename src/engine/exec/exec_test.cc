#include <unistd.h>

#include <thread>

#include "engine/testing.h"

namespace cove::engine {
namespace {

class Execs : public EngineTest {
 protected:
  const std::string& sandbox() {
    if (id_.empty()) id_ = create().spec.id;
    return id_;
  }
  Outcome run_here(std::vector<std::string> words, const Edit& edit = {}) {
    return run(sandbox(), std::move(words), edit);
  }
  std::shared_ptr<Exec> start_here(std::vector<std::string> words, const Edit& edit = {}) {
    return start_exec(sandbox(), std::move(words), edit);
  }
  std::vector<std::string> listed(const Engine::ExecFilter& filter) {
    std::vector<std::string> ids;
    const Page<ExecInfo> page = engine().list_execs(caller(), sandbox(), filter, "", 100).value();
    for (const ExecInfo& each : page.items) ids.push_back(each.id);
    return ids;
  }
  static Edit limit_time(milliseconds timeout, milliseconds grace) {
    return [=](ExecOrder& order) {
      order.limits.timeout.name(timeout);
      order.limits.grace.name(grace);
    };
  }
  static Edit tag(const std::string& text) {
    return [=](ExecOrder& order) { order.tag = text; };
  }

 private:
  std::string id_;
};

TEST_F(Execs, EndWithTheirExitCode) {
  Outcome fine = run_here({"exit", "0"});
  EXPECT_EQ(fine.status, "success");
  EXPECT_EQ(fine.exit_code, 0);
  Outcome failed = run_here({"exit", "3"});
  EXPECT_EQ(failed.status, "error");
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.signal, std::nullopt);
}

TEST_F(Execs, EndWithTheirSignal) {
  Outcome outcome = run_here({"signal", "11"});
  EXPECT_EQ(outcome.status, "killed");
  EXPECT_EQ(outcome.signal, 11);
  EXPECT_EQ(outcome.exit_code, std::nullopt);
}

TEST_F(Execs, SayWhatDoesNotExist) {
  Outcome outcome = run_here({"no-such-program"});
  EXPECT_EQ(outcome.exit_code, 127);
  EXPECT_THAT(outcome.why, HasSubstr("no-such-program"));
}

TEST_F(Execs, AreNotBlamedForWhatCoveFails) {
  std::shared_ptr<Exec> exec = start_here({"break"});
  EXPECT_EQ(wait_for(*exec).status, "failed");
  ASSERT_TRUE(exec->failure());
  EXPECT_THAT(exec->failure()->message(), HasSubstr("breaks"));
}

TEST_F(Execs, OutOfMemoryIsAStatusOfItsOwn) {
  Outcome outcome = run_here({"out-of-memory"});
  EXPECT_EQ(outcome.status, "oom_killed");
  EXPECT_THAT(event_kinds(sandbox()), testing::Contains("limit.hit"));
}

TEST_F(Execs, KeepTheirStreamsApartAndEachInOrder) {
  Outcome outcome = run_here({"print", "1", "error", "a", "print", "2", "error", "b", "print", "3"});
  EXPECT_EQ(outcome.out, "123");
  EXPECT_EQ(outcome.err, "ab");
}

TEST_F(Execs, AFollowerGetsEverythingOnceAndThenTheEnd) {
  std::shared_ptr<Exec> exec = start_here({"flood", "1000000", "print", "end"});
  const std::string all = followed(*exec);
  EXPECT_EQ(all.size(), 1'000'003u);
  EXPECT_TRUE(all.ends_with("xend"));
  EXPECT_TRUE(exec->ended());
  EXPECT_EQ(followed(*exec).size(), all.size()) << "again, of one that has ended";
}

TEST_F(Execs, AFollowerCanBeginLater) {
  std::shared_ptr<Exec> exec = start_here({"print", "first", "echo-input", "print", "last"});
  ASSERT_TRUE(has_printed(*exec, "first"));
  const uint64_t next = exec->info().next_seq;
  EXPECT_GT(next, 1u);
  ASSERT_OK(exec->close_input());
  EXPECT_EQ(followed(*exec, next), "last");
}

TEST_F(Execs, TakeTheirInputAtOnceOrLater) {
  EXPECT_EQ(run_here({"echo-input"}, [](ExecOrder& order) { order.input = "whole"; }).out, "whole");
  std::shared_ptr<Exec> exec = start_here({"echo-input"});
  ASSERT_OK(exec->write_input("piece by ", seconds(10)));
  ASSERT_OK(exec->write_input("piece", seconds(10)));
  EXPECT_FALSE(exec->ended());
  ASSERT_OK(exec->close_input());
  EXPECT_EQ(wait_for(*exec).out, "piece by piece");
  EXPECT_CODE(Code::Conflict, exec->write_input("more", seconds(10)));
}

TEST_F(Execs, WithoutInputReadNothing) {
  EXPECT_EQ(run_here({"echo-input", "print", "nothing"}, [](ExecOrder& order) { order.spec.input = false; }).out,
            "nothing");
}

TEST_F(Execs, AreGivenTheirSandboxsVariablesAndTheirOwn) {
  CreateOrder order;
  order.spec.env = {{"A", "sandbox"}, {"B", "sandbox"}};
  const std::string id = create(order).spec.id;
  auto with_own = [](ExecOrder& exec) { exec.spec.env = {{"B", "exec"}}; };
  EXPECT_EQ(run(id, {"show-variable", "A"}, with_own).out, "sandbox");
  EXPECT_EQ(run(id, {"show-variable", "B"}, with_own).out, "exec");
}

TEST_F(Execs, AreKilledOnRequest) {
  std::shared_ptr<Exec> exec = start_here({"ignore-term", "sleep"});
  ASSERT_OK(exec->kill());
  EXPECT_TRUE(exec->ended());
  EXPECT_EQ(wait_for(*exec).status, "killed");
  EXPECT_OK(exec->kill());  // again
  EXPECT_CODE(Code::Conflict, exec->signal(15, false));
}

TEST_F(Execs, GetSignals) {
  std::shared_ptr<Exec> exec = start_here({"ignore-term", "print", "ready", "sleep"});
  ASSERT_TRUE(has_printed(*exec, "ready"));
  ASSERT_OK(exec->signal(15, false));
  ASSERT_OK(exec->signal(2, true));
  EXPECT_EQ(wait_for(*exec).signal, 2) << "the first was ignored";
  EXPECT_CODE(Code::Invalid, start_here({"sleep"})->signal(1000, false));
}

TEST_F(Execs, AreAskedToEndWhenTheirTimeIsUp) {
  std::shared_ptr<Exec> exec = start_here({"sleep"}, limit_time(seconds(5), seconds(1)));
  advance(milliseconds(4999));
  EXPECT_FALSE(exec->ended());
  advance(milliseconds(1));
  Outcome outcome = wait_for(*exec);
  EXPECT_EQ(outcome.status, "timeout");
  EXPECT_EQ(outcome.signal, 15);
  EXPECT_EQ(outcome.duration_ms, 5000);
}

TEST_F(Execs, AreForcedToEndAfterTheirGrace) {
  std::shared_ptr<Exec> exec =
      start_here({"ignore-term", "print", "ready", "sleep"}, limit_time(seconds(5), seconds(2)));
  ASSERT_TRUE(has_printed(*exec, "ready"));
  advance(seconds(5));
  // The grace is counted once it was asked.
  EXPECT_TRUE(becomes([&] {
    clock_->move(seconds(2));
    return exec->ended();
  }));
  Outcome outcome = wait_for(*exec);
  EXPECT_EQ(outcome.status, "timeout");
  EXPECT_EQ(outcome.signal, 9);
}

TEST_F(Execs, ThatEndInTimeAreNotTouched) {
  std::shared_ptr<Exec> exec = start_here({"sleep-for", "4000", "exit", "7"}, limit_time(seconds(5), seconds(1)));
  advance(seconds(4));
  Outcome outcome = wait_for(*exec);
  EXPECT_EQ(outcome.exit_code, 7);
  advance(seconds(5));
  EXPECT_EQ(recorded(sandbox(), exec->info().id).status, "error");
}

TEST_F(Execs, TheSandboxsTimeLimitHoldsWhereTheyNameNone) {
  CreateOrder order;
  order.spec.limits.timeout.name(seconds(3));
  const std::string id = create(order).spec.id;
  std::shared_ptr<Exec> longer = start_exec(id, {"sleep"}, limit_time(seconds(60), seconds(1)));
  std::shared_ptr<Exec> usual = start_exec(id, {"sleep"});
  advance(seconds(3));
  EXPECT_EQ(wait_for(*usual).status, "timeout");
  EXPECT_FALSE(longer->ended());
}

TEST_F(Execs, ThatWriteTooMuchAreEnded) {
  Outcome outcome = run_here({"flood", "5000", "sleep"}, [](ExecOrder& order) { order.limits.output.name(1000); });
  EXPECT_EQ(outcome.status, "limit_exceeded");
}

TEST_F(Execs, AResultKeepsTheHeadAndTheTailOfLongOutput) {
  auto little = [](ExecOrder& order) { order.limits.retained.name(100); };
  Outcome outcome = run_here({"print", "head", "flood", "10000", "print", "tail"}, little);
  EXPECT_TRUE(outcome.out.starts_with("head")) << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with("tail")) << outcome.out;
  EXPECT_LT(outcome.out.size(), 1000u);
}

TEST_F(Execs, EndWithTheirProgramAndNotWithWhatItLeaves) {
  std::shared_ptr<Exec> exec = start_here({"print", "done", "leave-orphan", "exit", "4"});
  Outcome outcome = wait_for(*exec);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_EQ(outcome.out, "done");
}

TEST_F(Execs, AreListedByStateAndTag) {
  std::shared_ptr<Exec> one = start_here({"exit", "0"}, tag("build"));
  wait_for(*one);
  std::shared_ptr<Exec> two = start_here({"sleep"}, tag("build.web"));
  std::shared_ptr<Exec> three = start_here({"sleep"});
  const std::string a = one->info().id, b = two->info().id, c = three->info().id;
  EXPECT_THAT(listed({}), UnorderedElementsAre(a, b, c));
  EXPECT_THAT(listed({.state = ExecState::Running}), UnorderedElementsAre(b, c));
  EXPECT_THAT(listed({.state = ExecState::Ended}), ElementsAre(a));
  EXPECT_THAT(listed({.tag = "build"}), ElementsAre(a));
  EXPECT_THAT(listed({.tag_begins = "build"}), UnorderedElementsAre(a, b));
}

TEST_F(Execs, AreListedInPages) {
  std::vector<std::string> started, found;
  for (int i = 0; i < 5; ++i) {
    started.push_back(start_here({"exit", "0"})->info().id);
    clock_->move(milliseconds(1));
  }
  std::string after;
  do {
    Page<ExecInfo> page = engine().list_execs(caller(), sandbox(), {}, after, 2).value();
    for (const ExecInfo& each : page.items) found.push_back(each.id);
    after = page.next;
  } while (!after.empty());
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(started));
}

TEST_F(Execs, ATagCanBeChangedWhileTheyRunAndLater) {
  std::shared_ptr<Exec> exec = start_here({"sleep"}, tag("before"));
  const std::string id = exec->info().id;
  ASSERT_OK(engine().retag_exec(caller(), sandbox(), id, "running"));
  EXPECT_THAT(listed({.tag = "running"}), ElementsAre(id));
  ASSERT_OK(exec->kill());
  EXPECT_THAT(listed({.tag = "running"}), ElementsAre(id)) << "the end writes it down, too";
  ASSERT_OK(engine().retag_exec(caller(), sandbox(), id, "ended"));
  EXPECT_THAT(listed({.tag = "ended"}), ElementsAre(id));
}

TEST_F(Execs, AreFoundAfterTheirEnd) {
  std::shared_ptr<Exec> exec = start_here({"print", "hello", "exit", "2"});
  const std::string id = exec->info().id;
  wait_for(*exec);
  Outcome later = recorded(sandbox(), id);
  EXPECT_EQ(later.exit_code, 2);
  EXPECT_EQ(later.out, "hello");
  EXPECT_EQ(recorded(sandbox(), "0123456789abcdefghij").status, "not_found");
}

TEST_F(Execs, OnlyTheNewestAreKept) {
  config_.exec_retention = 2;
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    std::shared_ptr<Exec> exec = start_here({"print", "x"});
    wait_for(*exec);
    ids.push_back(exec->info().id);
    clock_->move(seconds(1));
  }
  close();
  open();
  advance(seconds(1));
  EXPECT_THAT(listed({}), UnorderedElementsAre(ids[2], ids[3]));
}

TEST_F(Execs, NeedARunningSandbox) {
  ASSERT_OK(engine().pause(caller(), sandbox()));
  Result<std::shared_ptr<Exec>> refused = engine().exec(caller(), sandbox(), {});
  EXPECT_CODE(Code::Conflict, refused);
  EXPECT_THAT(hint_of(refused), HasSubstr("resume"));
  ASSERT_OK(engine().stop(caller(), sandbox(), seconds(0)));
  refused = engine().exec(caller(), sandbox(), {});
  EXPECT_CODE(Code::Conflict, refused);
  EXPECT_THAT(hint_of(refused), HasSubstr("start"));
}

TEST_F(Execs, AreLetGoOfWhenTheirResultIsKnown) {
  for (int i = 0; i < 10; ++i) run_here({"print", "x"});
  EXPECT_TRUE(becomes([&] { return machine_.programs_in(sandbox()) == 0; }));
  EXPECT_TRUE(becomes([&] { return engine().counts().execs_running == 0; }));
}

TEST_F(Execs, AtOnceDoNotMixTheirOutput) {
  std::vector<std::shared_ptr<Exec>> execs;
  for (int i = 0; i < 8; ++i) execs.push_back(start_here({"print", std::to_string(i), "flood", "10000"}));
  for (size_t i = 0; i < execs.size(); ++i) {
    const std::string all = followed(*execs[i]);
    EXPECT_EQ(all.size(), 10'001u);
    EXPECT_EQ(all.front(), static_cast<char>('0' + i));
  }
}

}  // namespace
}  // namespace cove::engine
