#include "store/store_fixture.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(Stores, KeepsSessions) {
  SessionRecord record = session("s", "researcher");
  ASSERT_OK(store_->insert_session(record, std::vector{event("session.started")}));
  EXPECT_CODE(Code::Exists, store_->insert_session(record, std::vector{event("session.started")}));
  SessionRecord elsewhere = session("t");
  elsewhere.project = "none";
  EXPECT_CODE(Code::NotFound, store_->insert_session(elsewhere, {}));
  reopen();
  EXPECT_EQ(store_->find_session("default", "s").value(), record);
  EXPECT_CODE(Code::NotFound, store_->find_session("other", "s"));
  ASSERT_OK(store_->touch_session("s", 2000));
  ASSERT_OK(store_->touch_session("s", 1500));
  EXPECT_EQ(store_->find_session("", "s")->last_used_ms, 2000);
  EXPECT_CODE(Code::NotFound, store_->end_session("s", {"idle", 3000, 1999}, std::vector{event("session.ended")}));
  ASSERT_OK(store_->end_session("s", {"because", 3000}, std::vector{event("session.ended")}));
  EXPECT_CODE(Code::NotFound, store_->end_session("s", {"again", 4000}, std::vector{event("session.ended")}));
  ASSERT_OK(store_->touch_session("s", 5000));
  record.state = kSessionEnded;
  record.reason = "because";
  record.last_used_ms = 2000;
  record.ended_ms = 3000;
  reopen();
  EXPECT_EQ(store_->find_session("", "s").value(), record);
  EXPECT_THAT(kinds_after(0), ElementsAre("session.started", "session.ended"));
  EXPECT_EQ(store_->prune_sessions(3000).value(), 0u);
  EXPECT_EQ(store_->prune_sessions(3001).value(), 1u);
  EXPECT_CODE(Code::NotFound, store_->find_session("", "s"));
}

TEST_F(Stores, ListsSessionsInPagesByAgent) {
  for (int i = 0; i < 5; ++i)
    ASSERT_OK(store_->insert_session(session("s" + std::to_string(i), i % 2 ? "odd" : "even", 100 + i), {}));
  std::vector<SessionRecord> page = store_->list_sessions({"default", "", "", ""}, "", 2).value();
  EXPECT_THAT(ids(page), ElementsAre("s0", "s1"));
  EXPECT_THAT(ids(store_->list_sessions({}, cursor(page.back()), 10).value()), ElementsAre("s2", "s3", "s4"));
  EXPECT_THAT(ids(store_->list_sessions({"default", "odd", "", ""}, "", 10).value()), ElementsAre("s1", "s3"));
  ASSERT_OK(store_->end_session("s1", {"", 1}, {}));
  EXPECT_THAT(ids(store_->list_sessions({"", "odd", "agent", kSessionActive}, "", 10).value()), ElementsAre("s3"));
  EXPECT_THAT(store_->list_sessions({"", "", "shared", ""}, "", 10).value(), IsEmpty());
  EXPECT_CODE(Code::Invalid, store_->list_sessions({}, "x", 10));
}

TEST_F(Stores, OneSandboxServesAScope) {
  SandboxRecord first = sandbox("a");
  first.binding = "agent:researcher";
  ASSERT_OK(store_->insert_sandbox(first, {}, {}));
  SandboxRecord second = sandbox("b");
  second.binding = first.binding;
  EXPECT_CODE(Code::Exists, store_->insert_sandbox(second, {}, {}));
  ASSERT_OK(store_->insert_project({"web", "{}", 1}, {}));
  second.project = "web";
  ASSERT_OK(store_->insert_sandbox(second, {}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("c"), {}, {}));
  EXPECT_EQ(store_->find_bound("default", "agent:researcher")->value(), first);
  EXPECT_EQ(store_->find_bound("web", "agent:researcher")->value().id, "b");
  EXPECT_FALSE(store_->find_bound("default", "").value());
  first.state = "paused";
  ASSERT_OK(store_->update_sandbox(first, {}));
  EXPECT_EQ(store_->find_bound("default", "agent:researcher")->value().state, "paused");
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_FALSE(store_->find_bound("default", "agent:researcher").value());
}

TEST_F(Stores, ASessionForgetsASandboxThatIsGone) {
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), {}, {}));
  ASSERT_OK(store_->insert_session(session("s"), {}));
  EXPECT_CODE(Code::NotFound, store_->bind_session("s", "none", std::vector{event("session.bound")}));
  EXPECT_CODE(Code::NotFound, store_->bind_session("none", "a", std::vector{event("session.bound")}));
  ASSERT_OK(store_->bind_session("s", "a", std::vector{event("session.bound")}));
  EXPECT_EQ(store_->find_session("", "s")->sandbox_id, "a");
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_EQ(store_->find_session("", "s")->sandbox_id, "");
  EXPECT_THAT(kinds_after(0), ElementsAre("session.bound"));
}

TEST_F(Stores, FindsIdleSessionsAndOrphanedSandboxes) {
  ASSERT_OK(store_->insert_session(session("s", "", 1000), {}));
  ASSERT_OK(store_->insert_session(session("t", "", 2000), {}));
  SessionRecord endless = session("u", "", 10);
  endless.idle_ms = 0;
  ASSERT_OK(store_->insert_session(endless, {}));
  EXPECT_THAT(store_->idle_sessions(1499).value(), IsEmpty());
  EXPECT_THAT(ids(store_->idle_sessions(1500).value()), ElementsAre("s"));
  for (const char* id : {"s", "t", "gone"}) {
    SandboxRecord record = sandbox(std::string("box-") + id);
    record.binding = std::string("session:") + id;
    ASSERT_OK(store_->insert_sandbox(record, {}, {}));
  }
  SandboxRecord shared = sandbox("box-shared");
  shared.binding = "shared";
  ASSERT_OK(store_->insert_sandbox(shared, {}, {}));
  EXPECT_THAT(ids(store_->orphaned_sandboxes().value()), ElementsAre("box-gone"));
  ASSERT_OK(store_->end_session("s", {"idle", 1500}, {}));
  EXPECT_THAT(store_->idle_sessions(1600).value(), IsEmpty());
  EXPECT_THAT(ids(store_->orphaned_sandboxes().value()), ElementsAre("box-gone", "box-s"));
}

TEST_F(Stores, KnowsTheExecsOfASession) {
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), {}, {}));
  for (const char* id : {"x", "y", "z"}) {
    ExecRecord record = exec(id, "a");
    record.session = *id == 'z' ? "" : "s";
    ASSERT_OK(store_->insert_exec(record, {}));
  }
  EXPECT_THAT(ids(store_->list_execs("a", {.state = "", .tag = "", .session = "s"}, "", 10).value()),
              ElementsAre("x", "y"));
  EXPECT_THAT(store_->list_execs("a", {}, "", 10).value(), SizeIs(3));
  EXPECT_EQ(store_->last_end_in_session("s").value(), 0);
  ExecRecord ended = exec("x", "a");
  ended.state = kExecEnded;
  ended.ended_ms = 77;
  ASSERT_OK(store_->end_exec(ended, {}, {}));
  EXPECT_THAT(ids(store_->running_execs_of_session("s").value()), ElementsAre("y"));
  EXPECT_EQ(store_->last_end_in_session("s").value(), 77);
  EXPECT_THAT(store_->running_execs_of_session("").value(), IsEmpty());
}

}  // namespace
}  // namespace cove
