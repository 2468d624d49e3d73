#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/record_codec.h"
#include "engine/session/placement.h"
#include "engine/session/sessions.h"

namespace cove::engine {
namespace {

using testing::HasSubstr;

Circumstances selective() {
  Circumstances circumstances;
  circumstances.mode = Mode::Selective;
  circumstances.local = circumstances.waited_for = circumstances.workspace = true;
  return circumstances;
}

Circumstances off() {
  Circumstances circumstances;
  circumstances.mode = Mode::Off;
  circumstances.local = circumstances.waited_for = circumstances.off_allowed = true;
  return circumstances;
}

TEST(Placement, ModeAllIsAlwaysASandbox) {
  Circumstances circumstances = off();
  circumstances.mode = Mode::All;
  Placement placement = place(circumstances).value();
  EXPECT_EQ(placement.where, Where::Sandbox);
  EXPECT_THAT(placement.why, HasSubstr("mode all"));
}

TEST(Placement, SelectiveLooksOnlyAtPlainLocalCommandsInAWorkspace) {
  EXPECT_EQ(place(selective()).value().where, Where::HostIfHarmless);
  struct Case {
    void (*change)(Circumstances&);
    const char* why;
  };
  const Case kCases[] = {{[](Circumstances& c) { c.local = false; }, "Unix socket"},
                         {[](Circumstances& c) { c.workspace = false; }, "no workspace"},
                         {[](Circumstances& c) { c.review = true; }, "under review"},
                         {[](Circumstances& c) { c.waited_for = false; }, "does not wait"},
                         {[](Circumstances& c) { c.code = true; }, "code"},
                         {[](Circumstances& c) { c.input = true; }, "input"},
                         {[](Circumstances& c) { c.variables = true; }, "variables"},
                         {[](Circumstances& c) { c.terminal = true; }, "terminal"},
                         {[](Circumstances& c) { c.user = true; }, "user"},
                         {[](Circumstances& c) { c.image = true; }, "image or runtime"},
                         {[](Circumstances& c) { c.limits = true; }, "limit"},
                         {[](Circumstances& c) { c.files = true; }, "files"}};
  for (const Case& each : kCases) {
    Circumstances circumstances = selective();
    each.change(circumstances);
    Placement placement = place(circumstances).value();
    EXPECT_EQ(placement.where, Where::Sandbox) << each.why;
    EXPECT_THAT(placement.why, HasSubstr(each.why));
    EXPECT_THAT(placement.why, HasSubstr("mode selective"));
  }
}

TEST(Placement, OffNeedsTheAdministratorAndTheSocket) {
  Placement placement = place(off()).value();
  EXPECT_EQ(placement.where, Where::Host);
  EXPECT_THAT(placement.why, HasSubstr("mode off"));
  Circumstances forbidden = off();
  forbidden.off_allowed = false;
  Result<Placement> refused = place(forbidden);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Denied);
  EXPECT_THAT(refused.error().hint(), HasSubstr("modes.allow_off"));
  Circumstances remote = off();
  remote.local = false;
  ASSERT_FALSE(place(remote));
  EXPECT_EQ(place(remote).error().code(), Code::Denied);
}

// Where something cannot be had on the host it is refused; and never the other way round.
TEST(Placement, OffRefusesWhatOnlyASandboxHas) {
  for (auto change : std::vector<void (*)(Circumstances&)>{
           [](Circumstances& c) { c.waited_for = false; }, [](Circumstances& c) { c.code = true; },
           [](Circumstances& c) { c.terminal = true; }, [](Circumstances& c) { c.user = true; },
           [](Circumstances& c) { c.image = true; }, [](Circumstances& c) { c.limits = true; },
           [](Circumstances& c) { c.files = true; }, [](Circumstances& c) { c.read_only = true; }}) {
    Circumstances circumstances = off();
    change(circumstances);
    Result<Placement> refused = place(circumstances);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::Invalid);
  }
}

TEST(Placement, TheStricterModeHolds) {
  EXPECT_EQ(stricter(Mode::All, Mode::Off), Mode::All);
  EXPECT_EQ(stricter(Mode::Off, Mode::Selective), Mode::Selective);
  EXPECT_EQ(stricter(Mode::Off, Mode::Off), Mode::Off);
}

TEST(Scopes, HaveOneBindingEach) {
  SessionOrder order;
  order.agent = "researcher";
  EXPECT_EQ(binding_of(order, "s1"), "session:s1");
  order.scope = SessionScope::Agent;
  EXPECT_EQ(binding_of(order, "s1"), "agent:researcher");
  order.scope = SessionScope::Shared;
  EXPECT_EQ(binding_of(order, "s1"), "shared");
  // An agent cannot be named so that it gets the sandbox of others.
  order.scope = SessionScope::Agent;
  order.agent = "shared";
  EXPECT_EQ(binding_of(order, ""), "agent:shared");
}

TEST(Scopes, ASandboxMustBeAsTheSessionAsksFor) {
  SandboxSpec there;
  there.workspace = {"/srv/a", Access::ReadWrite};
  SandboxSpec wanted;
  wanted.image = "";
  EXPECT_THAT(difference(wanted, there), HasSubstr("/srv/a (rw), and not no workspace"));
  wanted.workspace = there.workspace;
  EXPECT_EQ(difference(wanted, there), "") << "nothing else was asked for by name";
  wanted.image = "host@0123456789abcdef";
  EXPECT_THAT(difference(wanted, there), HasSubstr("image"));
  wanted.image = "host";
  wanted.workspace = {"/srv/a", Access::ReadWrite};
  EXPECT_EQ(difference(wanted, there), "");
  wanted.workspace.access = Access::ReadOnly;
  EXPECT_THAT(difference(wanted, there), HasSubstr("/srv/a (rw), and not the workspace /srv/a (ro)"));
  wanted.workspace = {"/srv/b", Access::ReadWrite};
  EXPECT_THAT(difference(wanted, there), HasSubstr("/srv/b"));
  wanted.workspace = there.workspace;
  wanted.limits.memory.value = 1;
  EXPECT_EQ(difference(wanted, there), "") << "a default";
  wanted.limits.memory.name(1 << 30);
  EXPECT_THAT(difference(wanted, there), HasSubstr("memory"));
  wanted.limits.memory.name(there.limits.memory.value);
  EXPECT_EQ(difference(wanted, there), "");
}

TEST(Sessions, SurviveTheStore) {
  SessionInfo info;
  info.id = "s";
  info.project = "web";
  info.order.agent = "researcher ü";
  info.order.scope = SessionScope::Agent;
  info.order.mode = Mode::Selective;
  info.order.idle = std::chrono::seconds(7);
  info.order.sandbox.image = "";
  info.order.sandbox.env = {{"A", "1"}, {"B", "\n"}};
  info.order.sandbox.labels = {{"team", "x"}};
  info.order.sandbox.workspace = {"/srv/a", Access::ReadWrite};
  info.order.sandbox.limits.memory.name(123456);
  info.state = SessionState::Ended;
  info.reason = "because";
  info.sandbox_id = "k";
  info.created_ms = 1, info.last_used_ms = 2, info.ended_ms = 3;
  SessionInfo again = info_of(record_of(info)).value();
  EXPECT_EQ(record_of(again), record_of(info));
  EXPECT_EQ(again.order.sandbox.env, info.order.sandbox.env);
  EXPECT_TRUE(again.order.sandbox.limits.memory.named);
  EXPECT_FALSE(again.order.sandbox.limits.cpus.named);
  EXPECT_EQ(again.order.mode, Mode::Selective);
  SessionRecord damaged = record_of(info);
  damaged.scope = "everybody";
  EXPECT_FALSE(info_of(damaged));
  damaged = record_of(info);
  damaged.spec = "{";
  EXPECT_FALSE(info_of(damaged));
}

// A record that a later version wrote is not taken for something looser.
TEST(Sessions, AnUnknownModeIsTheStrictest) {
  SessionRecord record;
  record.scope = "session";
  record.spec = R"({"mode":"relaxed"})";
  EXPECT_EQ(info_of(record).value().order.mode, Mode::All);
}

TEST(Sessions, GiveTheirExecsWhatTheyHave) {
  SessionInfo session;
  session.id = "s";
  session.order.sandbox.env = {{"A", "session"}, {"B", "session"}};
  session.order.sandbox.limits.timeout.name(std::chrono::seconds(5));
  ExecOrder order;
  order.spec.env = {{"B", "exec"}};
  ExecOrder whole = order_in_session(session, order);
  EXPECT_EQ(whole.spec.env, (Environment{{"A", "session"}, {"B", "exec"}}));
  EXPECT_EQ(whole.session, "s");
  EXPECT_EQ(whole.limits.timeout.value, std::chrono::seconds(5));
  order.limits.timeout.name(std::chrono::seconds(1));
  EXPECT_EQ(order_in_session(session, order).limits.timeout.value, std::chrono::seconds(1));
}

TEST(Turns, OneAtATimeForEachName) {
  Turns turns;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        Turns::Turn turn = turns.take("a");
        most = std::max(most.load(), ++inside);
        ++count;
        --inside;
      }
    });
  {
    // Another name does not wait for it.
    Turns::Turn other = turns.take("b");
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(count, 1600);
}

}  // namespace
}  // namespace cove::engine
