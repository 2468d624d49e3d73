#include <thread>

#include "engine/testing.h"

namespace cove::engine {
namespace {

class SessionSandboxes : public EngineTest {
 protected:
  using Change = std::function<void(SessionOrder&)>;
  SessionInfo start(SessionScope scope = SessionScope::Session, const std::string& agent = "",
                    const Change& change = {}) {
    SessionOrder order;
    order.scope = scope;
    order.agent = agent;
    order.sandbox.image.clear();
    if (change) change(order);
    Result<SessionInfo> started = sessions().start(caller(), std::move(order));
    if (started) return *started;
    ADD_FAILURE() << started.error().message();
    return {};
  }
  Result<std::shared_ptr<Exec>> try_exec(const SessionInfo& session, std::vector<std::string> words,
                                         const Edit& edit = {}) {
    ExecOrder order;
    order.spec.argv = std::move(words);
    if (edit) edit(order);
    return sessions().exec(caller(), COVE_TRY(sessions().use(caller(), session.id)), order);
  }
  std::shared_ptr<Exec> exec(const SessionInfo& session, std::vector<std::string> words, const Edit& edit = {}) {
    Result<std::shared_ptr<Exec>> started = try_exec(session, std::move(words), edit);
    if (started) return *started;
    ADD_FAILURE() << started.error().message();
    return nullptr;
  }
  // The sandbox that one use of the session was in.
  std::string use(const SessionInfo& session) {
    std::shared_ptr<Exec> used = exec(session, {"exit", "0"});
    if (!used) return "";
    wait_for(*used);
    return used->info().sandbox_id;
  }
  SessionInfo now(const SessionInfo& session) { return sessions().find(caller(), session.id).value(); }
  bool is_active(const SessionInfo& session) { return now(session).state == SessionState::Active; }
  bool nothing_is_left() {
    return becomes([this] { return machine_.remains().empty(); });
  }
};

TEST_F(SessionSandboxes, ASessionHasNoneBeforeItsFirstUse) {
  SessionInfo session = start();
  EXPECT_EQ(now(session).sandbox_id, "");
  EXPECT_THAT(machine_.remains(), IsEmpty());
  const std::string id = use(session);
  EXPECT_EQ(now(session).sandbox_id, id);
  EXPECT_EQ(use(session), id);
  EXPECT_EQ(machine_.created(), 1u);
}

TEST_F(SessionSandboxes, ManyFirstUsesMakeOne) {
  SessionInfo session = start();
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (std::string& id : ids) threads.emplace_back([&] { id = use(session); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ids, testing::Each(ids.front()));
  EXPECT_EQ(machine_.created(), 1u);
}

TEST_F(SessionSandboxes, TwoSessionsOfTheirOwnScopeShareNothing) {
  EXPECT_NE(use(start(SessionScope::Session, "a")), use(start(SessionScope::Session, "a")));
}

TEST_F(SessionSandboxes, SessionsOfAnAgentShareOneAndThoseOfAnotherDoNot) {
  const std::string first = use(start(SessionScope::Agent, "a"));
  EXPECT_EQ(use(start(SessionScope::Agent, "a")), first);
  EXPECT_NE(use(start(SessionScope::Agent, "b")), first);
  EXPECT_EQ(find(first).spec.labels.at("cove.agent"), "a");
}

TEST_F(SessionSandboxes, SharedIsSharedByAllOfAProjectAndNoOther) {
  const std::string first = use(start(SessionScope::Shared, "a"));
  EXPECT_EQ(use(start(SessionScope::Shared, "b")), first);
  EXPECT_EQ(use(start(SessionScope::Shared)), first);
  ProjectRecord other;
  other.id = "other";
  ASSERT_OK(engine().store().insert_project(other, {}));
  SessionOrder order;
  order.scope = SessionScope::Shared;
  EXPECT_NE(sessions().sandbox_for(caller("other"), order).value().spec.id, first);
}

TEST_F(SessionSandboxes, TheEndOfASessionTakesItsOwn) {
  SessionInfo session = start();
  const std::string id = use(session);
  std::shared_ptr<Exec> running = exec(session, {"sleep"});
  ASSERT_OK(sessions().end(caller(), session.id));
  EXPECT_FALSE(exists(id));
  EXPECT_EQ(wait_for(*running).status, "killed");
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(now(session).reason, "it was ended by uid:1000");
  EXPECT_CODE(Code::Conflict, try_exec(session, {"exit", "0"}));
  EXPECT_OK(sessions().end(caller(), session.id));  // again
}

TEST_F(SessionSandboxes, TheEndOfASessionLeavesThatOfItsAgent) {
  SessionInfo session = start(SessionScope::Agent, "a");
  SessionInfo colleague = start(SessionScope::Agent, "a");
  std::shared_ptr<Exec> attended = exec(session, {"sleep"});
  std::shared_ptr<Exec> detached = exec(session, {"sleep"}, [](ExecOrder& order) { order.detached = true; });
  std::shared_ptr<Exec> others = exec(colleague, {"sleep"});
  ASSERT_OK(sessions().end(caller(), session.id));
  EXPECT_EQ(wait_for(*attended).status, "killed");
  EXPECT_FALSE(detached->ended()) << "nobody waits for it";
  EXPECT_FALSE(others->ended());
  EXPECT_TRUE(exists(others->info().sandbox_id));
}

TEST_F(SessionSandboxes, TheirExecsAreListedBySession) {
  SessionInfo one = start(SessionScope::Shared), two = start(SessionScope::Shared);
  const std::string first = exec(one, {"exit", "0"})->info().id;
  const std::string second = exec(two, {"exit", "0"})->info().id;
  Page<ExecInfo> page = sessions().list_execs(caller(), one.id, {}, "", 10).value();
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].id, first);
  EXPECT_EQ(page.items[0].order.session, one.id);
  EXPECT_NE(first, second);
}

TEST_F(SessionSandboxes, WhoAsksForStricterAccessIsNotGivenLooser) {
  auto with_access = [](Access access) {
    return [access](SessionOrder& order) { order.sandbox.workspace = {"/srv/a", access}; };
  };
  use(start(SessionScope::Shared, "", with_access(Access::ReadWrite)));
  for (Access stricter : {Access::ReadOnly, Access::Review}) {
    Result<std::shared_ptr<Exec>> refused =
        try_exec(start(SessionScope::Shared, "", with_access(stricter)), {"exit", "0"});
    EXPECT_CODE(Code::Conflict, refused);
    EXPECT_THAT(message_of(refused), HasSubstr("/srv/a (rw), and not"));
  }
  EXPECT_CODE(Code::Conflict, try_exec(start(SessionScope::Shared), {"exit", "0"}));  // no workspace at all
  EXPECT_OK(try_exec(start(SessionScope::Shared, "", with_access(Access::ReadWrite)), {"exit", "0"}));
}

TEST_F(SessionSandboxes, WhoAsksForSmallerLimitsIsNotGivenLarger) {
  auto with_memory = [](uint64_t bytes) {
    return [bytes](SessionOrder& order) { order.sandbox.limits.memory.name(bytes); };
  };
  const std::string id = use(start(SessionScope::Shared, "", with_memory(2 * kGiB)));
  EXPECT_CODE(Code::Conflict, try_exec(start(SessionScope::Shared, "", with_memory(kGiB)), {"exit", "0"}));
  EXPECT_EQ(use(start(SessionScope::Shared)), id) << "who names none takes what there is";
}

TEST_F(SessionSandboxes, TheirVariablesAreTheirOwnInASharedOne) {
  auto with_variable = [](const std::string& value) {
    return [value](SessionOrder& order) { order.sandbox.env = {{"WHO", value}}; };
  };
  SessionInfo a = start(SessionScope::Shared, "a", with_variable("a"));
  SessionInfo b = start(SessionScope::Shared, "b", with_variable("b"));
  EXPECT_EQ(wait_for(*exec(a, {"show-variable", "WHO"})).out, "a");
  EXPECT_EQ(wait_for(*exec(b, {"show-variable", "WHO"})).out, "b");
}

TEST_F(SessionSandboxes, ASandboxThatWasRemovedUnderASessionIsReplaced) {
  SessionInfo session = start();
  const std::string before = use(session);
  ASSERT_OK(engine().remove(caller(), before));
  EXPECT_TRUE(is_active(session));
  EXPECT_EQ(now(session).sandbox_id, "");
  const std::string after = use(session);
  EXPECT_NE(after, before);
  EXPECT_EQ(now(session).sandbox_id, after);
}

TEST_F(SessionSandboxes, AStoppedOrPausedOneIsWoken) {
  SessionInfo session = start();
  const std::string id = use(session);
  ASSERT_OK(engine().stop(caller(), id, seconds(0)));
  EXPECT_EQ(use(session), id);
  ASSERT_OK(engine().pause(caller(), id));
  EXPECT_EQ(use(session), id);
  EXPECT_EQ(state_of(id), State::Running);
}

TEST_F(SessionSandboxes, ASessionThatNobodyUsesEnds) {
  SessionInfo session = start(SessionScope::Session, "", [](SessionOrder& order) { order.idle = seconds(60); });
  const std::string id = use(session);
  advance(seconds(59));
  EXPECT_TRUE(is_active(session));
  advance(seconds(1));
  EXPECT_FALSE(is_active(session));
  EXPECT_EQ(now(session).reason, "it was not used for 60 s");
  EXPECT_FALSE(exists(id));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SessionSandboxes, ASessionWithoutAnIdleTimeNeverEndsByItself) {
  SessionInfo session = start(SessionScope::Session, "", [](SessionOrder& order) { order.idle = seconds(0); });
  advance(hours(1000));
  EXPECT_TRUE(is_active(session));
}

TEST_F(SessionSandboxes, AnExecThatSomebodyWaitsForKeepsItsSession) {
  SessionInfo session = start(SessionScope::Shared, "", [](SessionOrder& order) { order.idle = seconds(60); });
  std::shared_ptr<Exec> running = exec(session, {"sleep-for", "300000"});
  advance(seconds(200));
  EXPECT_TRUE(is_active(session));
  advance(seconds(100));
  wait_for(*running);
  advance(seconds(59));
  EXPECT_TRUE(is_active(session)) << "it counts from its end";
  advance(seconds(1));
  EXPECT_FALSE(is_active(session));
}

TEST_F(SessionSandboxes, ADetachedExecDoesNotKeepItsSession) {
  SessionInfo session = start(SessionScope::Shared, "", [](SessionOrder& order) { order.idle = seconds(60); });
  std::shared_ptr<Exec> running = exec(session, {"sleep"}, [](ExecOrder& order) { order.detached = true; });
  advance(seconds(60));
  EXPECT_FALSE(is_active(session));
  EXPECT_FALSE(running->ended());
}

TEST_F(SessionSandboxes, UseOfItsOwnSandboxIsUseOfTheSession) {
  SessionInfo session = start(SessionScope::Session, "", [](SessionOrder& order) { order.idle = seconds(60); });
  const std::string id = use(session);
  advance(seconds(50));
  run(id, {"exit", "0"});
  advance(seconds(50));
  EXPECT_TRUE(is_active(session));
}

TEST_F(SessionSandboxes, SurviveACrash) {
  SessionInfo mine = start(SessionScope::Session, "a");
  SessionInfo agents = start(SessionScope::Agent, "a");
  const std::string own = use(mine), shared = use(agents);
  crash();
  open();
  EXPECT_EQ(use(mine), own);
  EXPECT_EQ(use(agents), shared);
  EXPECT_EQ(machine_.created(), 2u);
}

TEST_F(SessionSandboxes, AnEndThatWasCutOffIsFinishedByTheNextServer) {
  SessionInfo session = start();
  const std::string id = use(session);
  Store::SessionEnd end = {"it was ended", clock_->now_ms()};
  ASSERT_OK(engine().store().end_session(session.id, end, {}));
  ASSERT_TRUE(exists(id));
  crash();
  open();
  EXPECT_TRUE(becomes([&] { return !exists(id); }));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SessionSandboxes, ASandboxForOneCallGoesWithTheServerThatWasCalled) {
  SessionOrder order;
  ASSERT_OK(sessions().passing_sandbox(caller(), order, ExecOrder(), kCallBinding));
  crash();
  open();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(SessionSandboxes, ASandboxForOneCallGoesAfterAWhileWithoutUse) {
  SessionOrder order;
  const std::string id = sessions().passing_sandbox(caller(), order, ExecOrder(), kCallBinding).value().spec.id;
  advance(seconds(29));
  EXPECT_TRUE(exists(id));
  advance(seconds(1));
  EXPECT_FALSE(exists(id));
}

TEST_F(SessionSandboxes, AnExecOfAStreamIsFoundByTheNextServer) {
  SessionOrder order;
  const std::string id = sessions().passing_sandbox(caller(), order, ExecOrder(), kStreamBinding).value().spec.id;
  const std::string running = start_exec(id, {"sleep"})->info().id;
  crash();
  open();
  std::vector<std::shared_ptr<Exec>> followed = sessions().followed_execs();
  ASSERT_EQ(followed.size(), 1u);
  EXPECT_EQ(followed[0]->info().id, running);
}

TEST_F(SessionSandboxes, WhatCannotBeMadeIsTriedAgainByTheNextUse) {
  SessionInfo session = start();
  open();
  machine_.refuse_creation(Error(Code::Unavailable, "not now"));
  EXPECT_CODE(Code::Unavailable, try_exec(session, {"exit", "0"}));
  EXPECT_TRUE(is_active(session));
  machine_.refuse_creation(std::nullopt);
  EXPECT_NE(use(session), "");
}

}  // namespace
}  // namespace cove::engine
