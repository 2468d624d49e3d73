#include "engine/testing.h"

namespace cove::engine {
namespace {

class Expiry : public EngineTest {
 protected:
  std::string make(const Lifecycle& lifecycle) {
    CreateOrder order;
    order.lifecycle = lifecycle;
    return create(order).spec.id;
  }
};

TEST_F(Expiry, StopsWhatNobodyUses) {
  const std::string id = make({.idle = seconds(60)});
  advance(milliseconds(59'999));
  EXPECT_EQ(state_of(id), State::Running);
  advance(milliseconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_EQ(find(id).reason, "it was not used for 60 s");
  EXPECT_THAT(machine_.running(), IsEmpty());
  EXPECT_THAT(event_kinds(id), testing::Contains("sandbox.expired"));
}

TEST_F(Expiry, NeverComesWhereNoTimeIsGiven) {
  const std::string id = make({});
  advance(hours(24 * 365));
  EXPECT_EQ(state_of(id), State::Running);
}

TEST_F(Expiry, CountsFromTheLastUse) {
  const std::string id = make({.idle = seconds(60)});
  advance(seconds(50));
  run(id, {"exit", "0"});
  advance(seconds(50));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(10));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, DoesNotComeWhileAnExecIsWaitedFor) {
  const std::string id = make({.idle = seconds(60)});
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep-for", "300000"});
  advance(seconds(200));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(100));
  wait_for(*exec);
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running) << "it counts from its end";
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, DoesNotWaitForADetachedExec) {
  const std::string id = make({.idle = seconds(60)});
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep"}, [](ExecOrder& order) { order.detached = true; });
  advance(seconds(60));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_EQ(wait_for(*exec).status, "killed");
}

TEST_F(Expiry, DoesNotComeWhileFilesAreInUse) {
  const std::string id = make({.idle = seconds(60)});
  {
    Engine::FileLease lease = engine().files(caller(), id, "", Scope::Read).value();
    advance(hours(1));
    EXPECT_EQ(state_of(id), State::Running);
  }
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, ALookIsNoUse) {
  const std::string id = make({.idle = seconds(60)});
  advance(seconds(50));
  find(id);
  EXPECT_OK(engine().stats(caller(), id));
  EXPECT_OK(engine().list_execs(caller(), id, {}, "", 10));
  advance(seconds(10));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, AtTheLongestTimeEndsEvenWhatIsInUse) {
  const std::string id = make({.max = seconds(60)});
  EXPECT_EQ(find(id).expires_ms, clock_->now_ms() + 60'000);
  std::shared_ptr<Exec> exec = start_exec(id, {"sleep"});
  advance(milliseconds(59'999));
  EXPECT_EQ(state_of(id), State::Running);
  advance(milliseconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
  EXPECT_EQ(find(id).reason, "its time was over");
  EXPECT_EQ(wait_for(*exec).status, "killed");
}

TEST_F(Expiry, TheLongestTimeCountsAnewFromAStart) {
  const std::string id = make({.max = seconds(60)});
  advance(seconds(60));
  ASSERT_EQ(state_of(id), State::Stopped);
  EXPECT_EQ(find(id).expires_ms, 0);
  advance(hours(1));
  ASSERT_OK(engine().start(caller(), id));
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, DeletesWhereThatIsAskedFor) {
  const std::string id = make({.idle = seconds(60), .on_expire = OnExpire::Delete});
  advance(seconds(60));
  EXPECT_FALSE(exists(id));
  EXPECT_TRUE(becomes([this] { return machine_.remains().empty(); }));
}

TEST_F(Expiry, DeletesAPausedSandboxAtItsLongestTime) {
  const std::string id = make({.max = seconds(60), .on_expire = OnExpire::Delete});
  ASSERT_OK(engine().pause(caller(), id));
  advance(seconds(60));
  EXPECT_FALSE(exists(id));
}

TEST_F(Expiry, PausesWhereThatIsAskedFor) {
  const std::string id = make({.idle = seconds(60), .on_expire = OnExpire::Pause});
  advance(seconds(60));
  EXPECT_EQ(state_of(id), State::Paused);
  EXPECT_TRUE(machine_.is_frozen(id));
  EXPECT_EQ(find(id).reason, "it was not used for 60 s");
}

TEST_F(Expiry, StopsWhatCannotBePaused) {
  machine_.set_capabilities({.name = "native"});
  const std::string id = make({.idle = seconds(60), .on_expire = OnExpire::Pause});
  advance(seconds(60));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, APausedSandboxIsNotIdle) {
  const std::string id = make({.idle = seconds(60)});
  ASSERT_OK(engine().pause(caller(), id));
  advance(hours(1));
  EXPECT_EQ(state_of(id), State::Paused);
  ASSERT_OK(engine().resume(caller(), id));
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running) << "to be resumed is a use";
}

TEST_F(Expiry, AUseWakesWhatMayWake) {
  const std::string paused = make({.idle = seconds(60), .on_expire = OnExpire::Pause, .auto_resume = true});
  const std::string stopped = make({.idle = seconds(60), .auto_resume = true});
  advance(seconds(60));
  ASSERT_EQ(state_of(paused), State::Paused);
  ASSERT_EQ(state_of(stopped), State::Stopped);
  EXPECT_EQ(run(paused, {"print", "back"}).out, "back");
  EXPECT_EQ(run(stopped, {"print", "back"}).out, "back");
  EXPECT_EQ(state_of(paused), State::Running);
  EXPECT_EQ(state_of(stopped), State::Running);
}

TEST_F(Expiry, ARenewalCountsAnew) {
  const std::string id = make({.idle = seconds(60), .max = seconds(100)});
  advance(seconds(50));
  ASSERT_OK(engine().renew(caller(), id, std::nullopt, std::nullopt));
  EXPECT_EQ(find(id).expires_ms, clock_->now_ms() + 100'000);
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, ARenewalMayChangeTheTimes) {
  const std::string id = make({.idle = seconds(60)});
  ASSERT_OK(engine().renew(caller(), id, seconds(600), seconds(1000)));
  advance(seconds(599));
  EXPECT_EQ(state_of(id), State::Running);
  run(id, {"exit", "0"});
  advance(seconds(401));
  EXPECT_EQ(find(id).reason, "its time was over");
}

TEST_F(Expiry, ComesForWhatExpiredWhileNoServerWasThere) {
  const std::string id = make({.max = seconds(60)});
  crash();
  clock_->move(seconds(61));
  open();
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, TheLastUseIsRememberedOverARestart) {
  const std::string id = make({.idle = seconds(60)});
  advance(seconds(30));
  run(id, {"exit", "0"});
  close();
  open();
  advance(seconds(59));
  EXPECT_EQ(state_of(id), State::Running);
  advance(seconds(1));
  EXPECT_EQ(state_of(id), State::Stopped);
}

TEST_F(Expiry, EventsArePrunedByTheirAge) {
  config_.retention.events = hours(24);
  const std::string id = make({});
  ASSERT_THAT(event_kinds(id), testing::Contains("sandbox.created"));
  close();
  clock_->move(hours(25));
  open();
  advance(seconds(1));
  EXPECT_THAT(event_kinds(id), testing::Not(testing::Contains("sandbox.created")));
}

}  // namespace
}  // namespace cove::engine
