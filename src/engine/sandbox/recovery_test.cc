#include <fcntl.h>

#include <filesystem>
#include <thread>

#include "engine/testing.h"

namespace cove::engine {
namespace {

class Recovery : public EngineTest {
 protected:
  void kill_server() {
    crash();
    open();
  }
};

TEST_F(Recovery, ARunningSandboxRunsOn) {
  CreateOrder order;
  order.spec.name = "web";
  order.spec.labels = {{"team", "a"}};
  const SandboxInfo before = create(order);
  kill_server();
  const SandboxInfo after = find("web");
  EXPECT_EQ(after.spec.id, before.spec.id);
  EXPECT_EQ(after.state, State::Running);
  EXPECT_EQ(after.spec.labels, before.spec.labels);
  EXPECT_EQ(after.enforced.at("memory").value, before.enforced.at("memory").value);
  EXPECT_EQ(run(before.spec.id, {"print", "hello"}).out, "hello");
}

TEST_F(Recovery, APausedSandboxStaysPaused) {
  const std::string id = create().spec.id;
  ASSERT_OK(engine().pause(caller(), id));
  kill_server();
  EXPECT_EQ(state_of(id), State::Paused);
  EXPECT_TRUE(machine_.is_frozen(id));
  ASSERT_OK(engine().resume(caller(), id));
  EXPECT_FALSE(machine_.is_frozen(id));
}

TEST_F(Recovery, AStoppedSandboxStaysStoppedWithItsFiles) {
  const std::string id = create().spec.id;
  run(id, {"save", "/tmp/a", "kept"});
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  kill_server();
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_THAT(machine_.running(), IsEmpty());
  ASSERT_OK(engine().start(caller(), id));
  EXPECT_EQ(run(id, {"show", "/tmp/a"}).out, "kept");
}

TEST_F(Recovery, AHalfMadeSandboxIsSweptAway) {
  open();
  machine_.hold_creation();
  Result<SandboxInfo> refused;
  std::thread making([&, engine = &engine()] { refused = engine->create(caller(), {}); });
  ASSERT_TRUE(becomes([this] { return machine_.held() == 1; }));
  machine_.cut_off();
  machine_.let_go();
  making.join();
  EXPECT_CODE(Code::Unavailable, refused);
  EXPECT_EQ(machine_.remains().size(), 1u) << "nobody was there to clear up";
  kill_server();
  EXPECT_THAT(machine_.remains(), IsEmpty());
  EXPECT_EQ(engine().usage("").value().sandboxes, 0u);
}

TEST_F(Recovery, ASandboxThatWasBeingDeletedIsSweptAway) {
  const std::string id = create().spec.id;
  machine_.refuse_destruction(Error(Code::Unavailable, "too busy"));
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep"});  // else it is removed later
  EXPECT_CODE(Code::Unavailable, engine().remove(caller(), id));
  EXPECT_THAT(machine_.remains(), ElementsAre(id));
  machine_.refuse_destruction(std::nullopt);
  exec.reset();
  kill_server();
  EXPECT_FALSE(exists(id));
  EXPECT_THAT(machine_.remains(), IsEmpty());
}

// It runs, and the record says that it does not: nobody was told that it was started.
TEST_F(Recovery, ASandboxThatWasBeingStartedIsStopped) {
  const std::string id = create().spec.id;
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  crash();
  SandboxSpec spec;
  spec.id = id;
  spec.restarted = true;
  spec.lifetime = Lifetime::Long;
  ASSERT_OK(machine_.runtime()->create(spec));
  ASSERT_THAT(machine_.running(), ElementsAre(id));
  open();
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_THAT(machine_.running(), IsEmpty());
  EXPECT_OK(engine().start(caller(), id));
}

TEST_F(Recovery, ASandboxThatEndedMeanwhileIsStopped) {
  const std::string id = create().spec.id;
  crash();
  machine_.end_process_one(id);
  open();
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_THAT(find(id).reason, HasSubstr("server came back"));
  EXPECT_THAT(event_kinds(id), testing::Contains("sandbox.failed"));
  EXPECT_OK(engine().start(caller(), id));
}

TEST_F(Recovery, ASandboxThatCannotBeAdoptedIsStoppedAndTheOthersRunOn) {
  const std::string deaf = create().spec.id;
  const std::string fine = create().spec.id;
  crash();
  machine_.refuse_adoption(deaf);
  open();
  EXPECT_EQ(state_of(deaf), State::Stopped);
  EXPECT_THAT(find(deaf).reason, HasSubstr("does not answer"));
  EXPECT_EQ(state_of(fine), State::Running);
}

TEST_F(Recovery, WhereNothingCanBeAdoptedNowNothingIsGivenUp) {
  const std::string id = create().spec.id;
  crash();
  machine_.set_lost(true);
  EXPECT_CODE(Code::Unavailable, try_open());
  machine_.set_lost(false);
  open();
  EXPECT_EQ(state_of(id), State::Running);
}

TEST_F(Recovery, ARunningExecGoesOnWithAllOfItsOutput) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"print", "before ", "sleep-for", "5000", "print", "after", "exit", "5"});
  ASSERT_TRUE(has_printed(*exec, "before "));
  const std::string exec_id = exec->info().id;
  exec.reset();
  kill_server();
  std::shared_ptr<Exec> again = engine().find_exec(caller(), id, exec_id, Scope::Read).value();
  EXPECT_FALSE(again->ended());
  advance(seconds(5));
  Outcome outcome = wait_for(*again);
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_EQ(outcome.out, "before after");
  EXPECT_EQ(followed(*again), "before after");
}

TEST_F(Recovery, AnExecThatEndedMeanwhileHasItsResult) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep-for", "5000", "print", "done", "exit", "6"});
  const std::string exec_id = exec->info().id;
  exec.reset();
  crash();
  clock_->move(seconds(5));
  ASSERT_TRUE(becomes([&] { return machine_.programs_in(id) == 0; }));
  open();
  Outcome outcome = recorded(id, exec_id);
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_EQ(outcome.out, "done");
}

TEST_F(Recovery, AnExecKeepsItsInput) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"echo-input", "print", "!"});
  ASSERT_OK(exec->write_input("a", seconds(10)));
  ASSERT_TRUE(has_printed(*exec, "a"));
  const std::string exec_id = exec->info().id;
  exec.reset();
  kill_server();
  std::shared_ptr<Exec> again = engine().find_exec(caller(), id, exec_id, Scope::Run).value();
  ASSERT_OK(again->write_input("b", seconds(10)));
  ASSERT_OK(again->close_input());
  EXPECT_EQ(wait_for(*again).out, "ab!");
}

TEST_F(Recovery, AnExecsTimeLimitStillHolds) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec =
      start_exec(id, {"sleep"}, [](ExecOrder& order) { order.limits.timeout.name(seconds(10)); });
  const std::string exec_id = exec->info().id;
  exec.reset();
  advance(seconds(6));
  kill_server();
  advance(seconds(4));
  EXPECT_EQ(recorded(id, exec_id).status, "timeout") << "what went by before counts";
}

TEST_F(Recovery, AnExecOfASandboxThatIsGoneWasKilled) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"print", "some", "sleep"});
  ASSERT_TRUE(has_printed(*exec, "some"));
  const std::string exec_id = exec->info().id;
  exec.reset();
  crash();
  machine_.end_process_one(id);
  open();
  Outcome outcome = recorded(id, exec_id);
  EXPECT_EQ(outcome.status, "killed");
  EXPECT_EQ(outcome.out, "some");
  EXPECT_THAT(outcome.why, HasSubstr("had ended"));
}

TEST_F(Recovery, AnExecThatIsOnNoRecordIsEnded) {
  const std::string id = create().spec.id;
  crash();
  SandboxSpec spec = machine_.spec_of(id);
  ExecSpec unknown;
  unknown.id = "unknown";
  unknown.argv = {"sleep"};
  ASSERT_OK(machine_.runtime()->adopt(spec).value()->exec(unknown));
  ASSERT_EQ(machine_.programs_in(id), 1u);
  open();
  EXPECT_TRUE(becomes([&] { return machine_.programs_in(id) == 0; }));
}

TEST_F(Recovery, AdmissionCountsWhatIsThere) {
  CreateOrder order;
  order.spec.limits.memory.name(kGiB);
  create(order);
  const std::string stopped = create(order).spec.id;
  ASSERT_OK(engine().stop(caller(), stopped, seconds(0)));
  kill_server();
  Numbers numbers = engine().usage(kDefaultProject).value();
  EXPECT_EQ(numbers.sandboxes, 2u);
  EXPECT_EQ(numbers.memory, kGiB);
}

TEST_F(Recovery, ARepeatedRequestStillMeansTheSameSandbox) {
  CreateOrder order;
  order.idempotency_key = "k";
  order.request_hash = "h";
  const std::string id = create(order).spec.id;
  kill_server();
  EXPECT_EQ(create(order).spec.id, id);
}

TEST_F(Recovery, LogsOfWhatIsGoneAreRemoved) {
  const std::string id = create().spec.id;
  run(id, {"print", "x"});
  crash();
  std::filesystem::create_directories(config_.server_folder + "/logs/nobodys");
  open();
  EXPECT_TRUE(std::filesystem::exists(config_.server_folder + "/logs/" + id));
  EXPECT_FALSE(std::filesystem::exists(config_.server_folder + "/logs/nobodys"));
}

TEST_F(Recovery, SurvivesManyCrashesInARow) {
  const std::string id = create().spec.id;
  std::shared_ptr<Exec> exec = start_exec(id, {"echo-input"});
  const std::string exec_id = exec->info().id;
  exec.reset();
  for (char c : std::string("abc")) {
    kill_server();
    std::shared_ptr<Exec> again = engine().find_exec(caller(), id, exec_id, Scope::Run).value();
    ASSERT_OK(again->write_input(std::string(1, c), seconds(10)));
    ASSERT_TRUE(has_printed(*again, std::string(1, c)));
  }
  std::shared_ptr<Exec> last = engine().find_exec(caller(), id, exec_id, Scope::Run).value();
  ASSERT_OK(last->close_input());
  EXPECT_EQ(wait_for(*last).out, "abc");
}

}  // namespace
}  // namespace cove::engine
