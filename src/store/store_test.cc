#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "base/text.h"
#include "store/backup.h"
#include "store/database.h"
#include "store/event_query.h"
#include "store/schema.h"
#include "sys/file.h"
#include "sys/testing.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

#define EXPECT_CODE(expected, ...)                                            \
  do {                                                                        \
    auto&& outcome = (__VA_ARGS__);                                           \
    ASSERT_FALSE(outcome);                                                    \
    EXPECT_EQ(outcome.error().code(), expected) << outcome.error().message(); \
  } while (false)

class Stores : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-store-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    reopen();
  }
  void TearDown() override {
    store_.reset();
    EXPECT_TRUE(sys::remove_tree(folder_));
  }
  void reopen() {
    store_.reset();
    Result<std::unique_ptr<Store>> opened = Store::open(folder_);
    ASSERT_OK(opened);
    store_ = std::move(*opened);
  }
  std::string file() const { return folder_ + "/cove.db"; }

  static SandboxRecord sandbox(const std::string& id, const std::string& name = "", int64_t created_ms = 1000) {
    SandboxRecord record;
    record.id = id;
    record.name = name;
    record.state = "running";
    record.reason = "because";
    record.spec = R"({"labels":{"a":"b"}})";
    record.created_ms = created_ms;
    record.started_ms = 2;
    record.last_used_ms = 3;
    record.expires_ms = 4;
    record.updated_ms = 5;
    return record;
  }
  static ExecRecord exec(const std::string& id, const std::string& sandbox_id, int64_t started_ms = 1000) {
    ExecRecord record;
    record.id = id;
    record.sandbox_id = sandbox_id;
    record.tag = "tag";
    record.spec = R"({"argv":["true"]})";
    record.started_ms = started_ms;
    record.position = UINT64_MAX / 2;
    return record;
  }
  static SessionRecord session(const std::string& id, const std::string& agent = "", int64_t created_ms = 1000) {
    SessionRecord record;
    record.id = id;
    record.agent = agent;
    record.scope = agent.empty() ? "session" : "agent";
    record.spec = R"({"mode":"all"})";
    record.idle_ms = 500;
    record.created_ms = record.last_used_ms = created_ms;
    return record;
  }
  static EventDraft event(const std::string& kind, const std::string& project = "default") {
    EventDraft draft;
    draft.kind = kind;
    draft.project = project;
    draft.actor = "uid:0";
    return draft;
  }
  std::vector<std::string> kinds_after(uint64_t seq, const std::string& project = "", size_t limit = 1000) {
    std::vector<std::string> kinds;
    Result<std::vector<EventRecord>> events = store_->events_after(seq, project, limit);
    EXPECT_TRUE(events);
    if (events)
      for (const EventRecord& each : *events) kinds.push_back(each.kind);
    return kinds;
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

std::vector<std::string> ids(const auto& records) {
  std::vector<std::string> names;
  for (const auto& record : records) names.push_back(record.id);
  return names;
}

TEST_F(Stores, KeepsASandboxOverARestart) {
  SandboxRecord record = sandbox("a", "web");
  record.spec = std::string("any\0bytes", 9);
  ASSERT_OK(store_->insert_sandbox(record, {}, {}));
  reopen();
  EXPECT_EQ(store_->find_sandbox("", "a").value(), record);
  EXPECT_EQ(store_->find_sandbox("default", "web").value(), record);
  record.state = "stopped";
  record.name = "other";
  record.updated_ms = 77;
  ASSERT_OK(store_->update_sandbox(record, {}));
  ASSERT_OK(store_->touch_sandbox("a", 100, 200));
  reopen();
  record.last_used_ms = 100;
  record.expires_ms = 200;
  EXPECT_EQ(store_->find_sandbox("default", "other").value(), record);
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("default", "web"));
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("", "a"));
  EXPECT_CODE(Code::NotFound, store_->remove_sandbox("a", {}));
  EXPECT_CODE(Code::NotFound, store_->update_sandbox(record, {}));
}

TEST_F(Stores, NamesAreUniqueInAProjectUnlessEmpty) {
  ASSERT_OK(store_->insert_project({"other", "{}", 1}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("a", "web"), {}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("b"), {}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("c"), {}, {}));
  EventDraft draft = event("sandbox.created");
  auto taken = store_->insert_sandbox(sandbox("d", "web"), {}, {&draft, 1});
  EXPECT_CODE(Code::Exists, taken);
  EXPECT_THAT(taken.error().message(), HasSubstr("the name 'web' is taken"));
  EXPECT_EQ(store_->last_event(), 0u);
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("", "d"));
  auto renamed = store_->update_sandbox(sandbox("b", "web"), {});
  EXPECT_CODE(Code::Exists, renamed);
  EXPECT_THAT(renamed.error().message(), HasSubstr("'web' is taken"));
  auto same_id = store_->insert_sandbox(sandbox("a", "fresh"), {}, {});
  EXPECT_CODE(Code::Exists, same_id);
  EXPECT_THAT(same_id.error().message(), HasSubstr("there is a sandbox 'a' already"));

  SandboxRecord elsewhere = sandbox("e", "web");
  elsewhere.project = "other";
  ASSERT_OK(store_->insert_sandbox(elsewhere, {}, {}));
  EXPECT_EQ(store_->find_sandbox("other", "web")->id, "e");
  EXPECT_EQ(store_->find_sandbox("default", "web")->id, "a");
  EXPECT_CODE(Code::Invalid, store_->find_sandbox("", "web"));
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("default", "e"));
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("default", ""));
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_TRUE(store_->update_sandbox(sandbox("b", "web"), {}));
}

TEST_F(Stores, ASandboxNeedsItsProjectAndAnExecItsSandbox) {
  SandboxRecord record = sandbox("a");
  record.project = "nowhere";
  auto lost = store_->insert_sandbox(record, {}, {});
  EXPECT_CODE(Code::NotFound, lost);
  EXPECT_THAT(lost.error().message(), HasSubstr("no project 'nowhere'"));
  auto orphan = store_->insert_exec(exec("x", "gone"), {});
  EXPECT_CODE(Code::NotFound, orphan);
  EXPECT_THAT(orphan.error().message(), HasSubstr("no sandbox 'gone'"));
  EXPECT_TRUE(store_->touch_sandbox("gone", 1, 2));
}

TEST_F(Stores, RemembersIdempotencyKeys) {
  Idempotency entry{.key = "key-1", .request_hash = "hash", .made = "a", .time_ms = 50};
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), entry, {}));
  EXPECT_EQ(store_->find_idempotency("default", "key-1").value(), entry);
  EXPECT_EQ(store_->find_idempotency("other", "key-1").value(), std::nullopt);
  Idempotency again{.key = "key-1", .request_hash = "hash", .made = "b", .time_ms = 60};
  EXPECT_CODE(Code::Exists, store_->insert_sandbox(sandbox("b"), again, {}));
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("", "b"));
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_TRUE(store_->find_idempotency("default", "key-1")->has_value());
  EXPECT_EQ(store_->prune_idempotency(50).value(), 0u);
  EXPECT_EQ(store_->prune_idempotency(51).value(), 1u);
  ASSERT_OK(store_->insert_sandbox(sandbox("b"), again, {}));
  ASSERT_OK(store_->remove_sandbox("b", {}, Store::IdempotencyKey::Forget));
  EXPECT_FALSE(store_->find_idempotency("default", "key-1")->has_value());
}

TEST_F(Stores, KeepsAnswersForIdempotencyKeys) {
  Idempotency entry{.key = "k", .request_hash = "h", .time_ms = 5};
  ASSERT_OK(store_->put_idempotency(entry));
  entry.status = 201;
  entry.headers = R"([["Location","/x"]])";
  entry.body = "{}";
  ASSERT_OK(store_->put_idempotency(entry));
  EXPECT_EQ(store_->find_idempotency("default", "k").value(), entry);
  ASSERT_OK(store_->forget_idempotency("default", "k"));
  EXPECT_EQ(store_->find_idempotency("default", "k").value(), std::nullopt);
}

TEST_F(Stores, ForgetsTheOldestAnswersWhereTheyTakeTooMuchRoom) {
  const size_t large = Store::kMostIdempotencyBytes / 4;
  for (int i = 0; i < 6; ++i)
    ASSERT_OK(store_->put_idempotency({.key = std::to_string(i), .status = 200, .body = std::string(large, 'x')}));
  EXPECT_FALSE(store_->find_idempotency("default", "1")->has_value());
  EXPECT_TRUE(store_->find_idempotency("default", "2")->has_value());
  EXPECT_TRUE(store_->find_idempotency("default", "5")->has_value());
}

TEST_F(Stores, ListsInPagesThatStayStable) {
  for (int i = 0; i < 2500; ++i) {
    SandboxRecord record = sandbox(concat("id", 9000 - i), "", i / 10);  // ten of each age
    record.state = i % 5 == 0 ? "paused" : "running";
    ASSERT_OK(store_->insert_sandbox(record, {}, {}));
  }
  std::vector<std::string> seen;
  std::string after;
  while (true) {
    std::vector<SandboxRecord> page = store_->list_sandboxes({}, after, 99).value();
    if (page.empty()) break;
    EXPECT_LE(page.size(), 99u);
    for (const SandboxRecord& each : page) seen.push_back(each.id);
    after = cursor(page.back());
    // One that was listed, and the place itself, may go in between.
    ASSERT_OK(store_->remove_sandbox(page.back().id, {}));
  }
  EXPECT_THAT(seen, SizeIs(2500));
  EXPECT_THAT(std::set<std::string>(seen.begin(), seen.end()), SizeIs(2500));
  EXPECT_EQ(seen[0], "id8991");
  EXPECT_EQ(seen[9], "id9000") << "the order within an age is by id";

  Store::SandboxFilter paused;
  paused.state = "paused";
  std::vector<SandboxRecord> filtered = store_->list_sandboxes(paused, "", 1000).value();
  EXPECT_FALSE(filtered.empty());
  for (const SandboxRecord& each : filtered) EXPECT_EQ(each.state, "paused");
  EXPECT_CODE(Code::Invalid, store_->list_sandboxes({}, "garbage", 10));
  EXPECT_CODE(Code::Invalid, store_->list_sandboxes({}, "12x.id", 10));
}

TEST_F(Stores, FiltersAndCounts) {
  ASSERT_OK(store_->insert_project({"other", "{}", 1}, {}));
  SandboxRecord foreign = sandbox("c", "x", 3);
  foreign.project = "other";
  SandboxRecord paused = sandbox("b", "y", 2);
  paused.state = "paused";
  ASSERT_OK(store_->insert_sandbox(sandbox("a", "x", 1), {}, {}));
  ASSERT_OK(store_->insert_sandbox(paused, {}, {}));
  ASSERT_OK(store_->insert_sandbox(foreign, {}, {}));
  EXPECT_THAT(ids(store_->all_sandboxes().value()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids(store_->list_sandboxes({"other", "", ""}, "", 10).value()), ElementsAre("c"));
  EXPECT_THAT(ids(store_->list_sandboxes({"", "running", ""}, "", 10).value()), ElementsAre("a", "c"));
  EXPECT_THAT(ids(store_->list_sandboxes({"", "", "x"}, "", 10).value()), ElementsAre("a", "c"));
  EXPECT_THAT(ids(store_->list_sandboxes({"default", "paused", "y"}, "", 10).value()), ElementsAre("b"));
  EXPECT_THAT(store_->count_sandboxes().value(),
              ElementsAre(StateCount{"default", "paused", 1}, StateCount{"default", "running", 1},
                          StateCount{"other", "running", 1}));
}

TEST_F(Stores, KeepsExecs) {
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), {}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("b"), {}, {}));
  ExecRecord record = exec("x1", "a", 1);
  ASSERT_OK(store_->insert_exec(record, {}));
  EXPECT_CODE(Code::Exists, store_->insert_exec(record, {}));
  ASSERT_OK(store_->insert_exec(exec("x2", "a", 2), {}));
  ASSERT_OK(store_->insert_exec(exec("y1", "b", 3), {}));
  record.state = kExecEnded;
  record.result = R"({"exit_code":0})";
  record.ended_ms = 9;
  record.position = 12;
  EventDraft ended = event("exec.ended");
  EXPECT_EQ(store_->end_exec(record, {}, {&ended, 1}).value(), 1u);
  reopen();
  EXPECT_EQ(store_->find_exec("a", "x1").value(), record);
  EXPECT_EQ(store_->find_exec("", "x1").value(), record);
  EXPECT_CODE(Code::NotFound, store_->find_exec("b", "x1"));
  EXPECT_THAT(ids(store_->list_execs("a", {}, "", 10).value()), ElementsAre("x1", "x2"));
  EXPECT_THAT(ids(store_->list_execs("a", {}, cursor(record), 10).value()), ElementsAre("x2"));
  EXPECT_THAT(ids(store_->list_execs("a", {"ended", ""}, "", 10).value()), ElementsAre("x1"));
  EXPECT_THAT(ids(store_->list_execs("a", {"", "other"}, "", 10).value()), IsEmpty());
  EXPECT_THAT(ids(store_->running_execs("a").value()), ElementsAre("x2"));
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_CODE(Code::NotFound, store_->find_exec("a", "x1"));
  EXPECT_CODE(Code::NotFound, store_->end_exec(record, {}, {}));
  EXPECT_TRUE(store_->find_exec("b", "y1"));
}

TEST_F(Stores, PrunesOldExecsButNeverRunningOnes) {
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), {}, {}));
  for (int i = 0; i < 6; ++i) {
    ExecRecord record = exec(concat("x", i), "a", i);
    record.state = i == 1 ? kExecRunning : kExecEnded;
    ASSERT_OK(store_->insert_exec(record, {}));
  }
  EXPECT_THAT(store_->prune_execs("a", 2).value(), testing::UnorderedElementsAre("x0", "x2", "x3"));
  EXPECT_THAT(ids(store_->list_execs("a", {}, "", 10).value()), ElementsAre("x1", "x4", "x5"));
  EXPECT_THAT(store_->prune_execs("a", 2).value(), IsEmpty());
}

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

TEST_F(Stores, EventsAreNumberedAndResumable) {
  int woken = 0;
  store_->on_events([&] { ++woken; });
  std::vector<EventDraft> two = {event("a.one"), event("a.two", "other")};
  two[0].time_ms = 5;
  two[0].sandbox_id = "s";
  two[0].exec_id = "e";
  two[0].data = R"({"n":1})";
  EXPECT_EQ(store_->append_events(two).value(), 2u);
  EXPECT_EQ(store_->insert_sandbox(sandbox("s"), {}, two).value(), 4u);
  EXPECT_EQ(store_->touch_sandbox("s", 1, 2).has_value(), true);
  EXPECT_EQ(store_->append_events({}).value(), 0u);
  EXPECT_EQ(woken, 2);
  reopen();
  EXPECT_EQ(store_->last_event(), 4u);
  EXPECT_EQ(store_->append_events({two.data(), 1}).value(), 5u);
  EXPECT_THAT(kinds_after(0), ElementsAre("a.one", "a.two", "a.one", "a.two", "a.one"));
  EXPECT_THAT(kinds_after(3), ElementsAre("a.two", "a.one"));
  EXPECT_THAT(kinds_after(1, "other"), ElementsAre("a.two", "a.two"));
  EXPECT_THAT(kinds_after(0, "", 2), ElementsAre("a.one", "a.two"));
  EXPECT_THAT(kinds_after(5), IsEmpty());
  EXPECT_THAT(kinds_after(UINT64_MAX), IsEmpty());
  EXPECT_EQ(store_->events_after(0, "", 1)->front(),
            (EventRecord{1, 5, "a.one", "default", "s", "e", "uid:0", R"({"n":1})"}));
  EXPECT_GT(store_->events_after(1, "", 1)->front().time_ms, 1'600'000'000'000);
}

TEST_F(Stores, FindsRareEventsOfAProjectAmongMany) {
  std::vector<EventDraft> many(12'000, event("noise"));
  many[3] = event("first", "rare");
  many[11'998] = event("second", "rare");
  ASSERT_OK(store_->append_events(many));
  EXPECT_THAT(kinds_after(0, "rare"), ElementsAre("first", "second"));
  EXPECT_THAT(kinds_after(4, "rare"), ElementsAre("second"));
  EXPECT_THAT(kinds_after(0, "rare", 1), ElementsAre("first"));
}

TEST_F(Stores, PrunesEventsAndGoesOnCounting) {
  for (int i = 1; i <= 1200; ++i) {
    EventDraft draft = event(concat("e", i));
    draft.time_ms = i;
    ASSERT_OK(store_->append_events({&draft, 1}));
  }
  EXPECT_EQ(store_->prune_events(0, 0).value(), 0u);
  EXPECT_EQ(store_->prune_events(11, 0).value(), 10u);
  EXPECT_EQ(store_->first_event().value(), 11u);
  EXPECT_EQ(store_->prune_events(0, 100).value(), 1090u);
  EXPECT_EQ(store_->first_event().value(), 1101u);
  EXPECT_THAT(kinds_after(0, "", 1), ElementsAre("e1101"));
  EXPECT_EQ(store_->prune_events(INT64_MAX, 0).value(), 99u);
  EXPECT_THAT(kinds_after(0), ElementsAre("e1200"));
  reopen();
  EXPECT_EQ(store_->last_event(), 1200u);
  EventDraft next = event("next");
  EXPECT_EQ(store_->append_events({&next, 1}).value(), 1201u);
}

TEST_F(Stores, KeepsKeysAndProjects) {
  KeyRecord key{"k1", "ci", "default", "read,run", "00ff", "abcd", 10, 20, 0};
  EventDraft made = event("key.created");
  EXPECT_EQ(store_->insert_key(key, {&made, 1}).value(), 1u);
  EXPECT_CODE(Code::Exists, store_->insert_key(key, {}));
  KeyRecord lost = key;
  lost.id = "k2";
  lost.project = "nowhere";
  EXPECT_CODE(Code::NotFound, store_->insert_key(lost, {}));
  reopen();
  EXPECT_EQ(store_->find_key("k1").value(), key);
  EXPECT_EQ(store_->revoke_key("k1", 99, {&made, 1}).value(), 2u);
  EXPECT_EQ(store_->revoke_key("k1", 100, {&made, 1}).value(), 0u);
  EXPECT_CODE(Code::NotFound, store_->revoke_key("none", 1, {}));
  EXPECT_EQ(store_->find_key("k1")->revoked_ms, 99);
  EXPECT_THAT(ids(store_->list_keys("").value()), ElementsAre("k1"));

  EXPECT_THAT(ids(store_->list_projects().value()), ElementsAre("default"));
  ASSERT_OK(store_->insert_project({"p", R"({"sandboxes":1})", 7}, {}));
  EXPECT_CODE(Code::Exists, store_->insert_project({"p", "{}", 7}, {}));
  ASSERT_OK(store_->update_project({"p", R"({"sandboxes":2})", 0}, {}));
  EXPECT_CODE(Code::NotFound, store_->update_project({"q", "{}", 0}, {}));
  EXPECT_EQ(store_->find_project("p").value(), (ProjectRecord{"p", R"({"sandboxes":2})", 7}));
  lost.project = "p";
  ASSERT_OK(store_->insert_key(lost, {}));
  SandboxRecord inhabitant = sandbox("a");
  inhabitant.project = "p";
  ASSERT_OK(store_->insert_sandbox(inhabitant, {}, {}));
  EXPECT_CODE(Code::Conflict, store_->remove_project("p", {}));
  ASSERT_OK(store_->remove_sandbox("a", {}));
  ASSERT_OK(store_->remove_project("p", {}));
  EXPECT_CODE(Code::NotFound, store_->find_key("k2"));
  EXPECT_CODE(Code::NotFound, store_->find_project("p"));
  EXPECT_CODE(Code::NotFound, store_->remove_project("p", {}));
  EXPECT_CODE(Code::Denied, store_->remove_project("default", {}));
}

TEST_F(Stores, SecretsAreMadeOnce) {
  std::string secret = store_->secret("tokens").value();
  EXPECT_THAT(secret, SizeIs(32));
  EXPECT_EQ(store_->secret("tokens").value(), secret);
  EXPECT_NE(store_->secret("other").value(), secret);
  reopen();
  EXPECT_EQ(store_->secret("tokens").value(), secret);
}

TEST_F(Stores, ManyThreadsSeeOneOrder) {
  constexpr int kThreads = 4, kEach = 200;
  std::atomic<int> woken = 0;
  store_->on_events([&] { ++woken; });
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        SandboxRecord record = sandbox(concat("s", thread, "-", i), concat("n", thread, "-", i), i);
        EventDraft draft = event(record.id);
        EXPECT_TRUE(store_->insert_sandbox(record, {}, {&draft, 1}));
        EXPECT_TRUE(store_->touch_sandbox(record.id, i, i));
        EXPECT_TRUE(store_->find_sandbox("default", record.name));
      }
    });
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(store_->checkpoint());
  });
  std::set<std::string> followed;
  uint64_t position = 0;
  while (followed.size() < kThreads * kEach) {
    std::vector<EventRecord> events = store_->events_after(position, "", 50).value();
    for (const EventRecord& each : events) {
      ASSERT_EQ(each.seq, ++position);
      followed.insert(each.kind);
    }
    if (events.empty()) std::this_thread::yield();
  }
  threads.clear();
  EXPECT_EQ(woken, kThreads * kEach);
  EXPECT_THAT(store_->all_sandboxes().value(), SizeIs(kThreads * kEach));
}

TEST_F(Stores, OneServerPerFolder) {
  Result<std::unique_ptr<Store>> second = Store::open(folder_);
  EXPECT_CODE(Code::Exists, second);
  EXPECT_THAT(second.error().message(), HasSubstr(concat("another server (pid ", ::getpid(), ")")));
  EXPECT_NE(second.error().hint(), "");
  store_.reset();
  EXPECT_TRUE(Store::open(folder_));
}

TEST_F(Stores, NobodyElseCanReadOrReplaceIt) {
  for (const char* name : {"/cove.db", "/cove.db-wal", "/lock"})
    EXPECT_EQ(sys::stat(folder_ + name)->st_mode & 0777, 0600u) << name;
  store_.reset();
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_CODE(Code::Denied, Store::open(folder_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
}

TEST_F(Stores, MakesTheFolder) {
  Result<std::unique_ptr<Store>> store = Store::open(folder_ + "/deeper/still");
  ASSERT_OK(store);
  EXPECT_EQ(sys::stat(folder_ + "/deeper/still")->st_mode & 0777, 0700u);
}

// What someone else may have begun: a version that says 0, and a table that is not ours.
TEST_F(Stores, MigratesAnOldDatabase) {
  std::string old = folder_ + "/old";
  ASSERT_OK(sys::mkdir(old, 0700));
  ASSERT_OK(sys::write_file(old + "/cove.db", "", 0600));
  {
    std::unique_ptr<Database> database = std::move(*Database::open(old + "/cove.db"));
    ASSERT_OK(
        database->execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
                          "INSERT INTO meta VALUES ('schema_version', '0');"
                          "CREATE TABLE leftover (text TEXT); INSERT INTO leftover VALUES ('kept')"));
  }
  Result<std::unique_ptr<Store>> store = Store::open(old);
  ASSERT_OK(store);
  EXPECT_THAT(ids((*store)->list_projects().value()), ElementsAre("default"));
  ASSERT_OK((*store)->insert_sandbox(sandbox("a"), {}, {}));
  store->reset();
  std::unique_ptr<Database> database = std::move(*Database::open(old + "/cove.db"));
  EXPECT_EQ(database->number("SELECT value FROM meta WHERE name = 'schema_version'").value(),
            static_cast<int64_t>(migrations().size()));
  EXPECT_EQ(database->number("SELECT count(*) FROM leftover").value(), 1);
}

// A folder of the first version, with something of everything in it.
TEST_F(Stores, MigratesTheFirstVersion) {
  std::string old = folder_ + "/first";
  ASSERT_OK(sys::mkdir(old, 0700));
  ASSERT_OK(sys::write_file(old + "/cove.db", "", 0600));
  {
    std::unique_ptr<Database> database = std::move(*Database::open(old + "/cove.db"));
    ASSERT_OK(migrate(*database, migrations().first(1)));
    ASSERT_OK(database->execute(
        "INSERT INTO sandboxes VALUES ('a', 'default', 'web', 'running', 'because', 1000, 2, 3, 4, 5, '{}');"
        "INSERT INTO sandboxes VALUES ('b', 'default', '', 'stopped', '', 1001, 0, 0, 0, 0, '{}');"
        "INSERT INTO execs VALUES ('x', 'a', 'ended', 'tag', 1, 2, 3, '{}', '{\"status\":\"success\"}');"
        "INSERT INTO events VALUES (1, 1, 'sandbox.created', 'default', 'a', '', 'uid:0', '{}')"));
  }
  std::unique_ptr<Store> store = std::move(*Store::open(old));
  EXPECT_THAT(ids(store->all_sandboxes().value()), ElementsAre("a", "b"));
  EXPECT_EQ(store->find_sandbox("default", "web")->binding, "");
  EXPECT_EQ(store->find_exec("a", "x")->session, "");
  EXPECT_EQ(store->last_event(), 1u);
  ASSERT_OK(store->insert_session(session("s"), {}));
  ASSERT_OK(store->bind_session("s", "a", {}));
  EXPECT_EQ(store->find_session("", "s")->sandbox_id, "a");
}

TEST_F(Stores, MigratesStepByStepOrNotAtAll) {
  static constexpr Migration kSteps[] = {"CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (1)",
                                         "ALTER TABLE a ADD COLUMN m INTEGER NOT NULL DEFAULT 7",
                                         "INSERT INTO a VALUES (2, 8); INSERT INTO missing VALUES (1)"};
  std::string path = folder_ + "/steps.db";
  ASSERT_OK(sys::write_file(path, "", 0600));
  std::unique_ptr<Database> database = std::move(*Database::open(path));
  ASSERT_OK(migrate(*database, std::span(kSteps).first(1)));
  auto failed = migrate(*database, kSteps);
  EXPECT_CODE(Code::Internal, failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("version 3"));
  EXPECT_EQ(database->number("SELECT count(*) FROM pragma_table_info('a')").value(), 1) << "rolled back";
  ASSERT_OK(migrate(*database, std::span(kSteps).first(2)));
  EXPECT_EQ(database->number("SELECT m FROM a").value(), 7);
  ASSERT_OK(migrate(*database, std::span(kSteps).first(2)));
  EXPECT_CODE(Code::Unsupported, migrate(*database, std::span(kSteps).first(1)));
}

TEST_F(Stores, RefusesWhatANewerOneWrote) {
  store_.reset();
  {
    std::unique_ptr<Database> database = std::move(*Database::open(file()));
    ASSERT_OK(database->execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'"));
  }
  auto refused = Store::open(folder_);
  EXPECT_CODE(Code::Unsupported, refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("newer"));
  EXPECT_THAT(refused.error().message(), HasSubstr("99"));
  EXPECT_NE(refused.error().hint(), "");
}

TEST_F(Stores, SaysWhatToDoAboutADamagedFile) {
  ASSERT_OK(store_->append_events(std::vector<EventDraft>(500, event("some.event"))));
  store_.reset();
  std::string whole = sys::read_file(file()).value();
  std::string broken_page = whole;
  broken_page.replace(4096, 64, std::string(64, 'x'));
  for (const std::string& damaged : {std::string(9000, 'x'), whole.substr(0, 5000), broken_page}) {
    ASSERT_OK(sys::write_file(file(), damaged, 0600));
    auto refused = Store::open(folder_);
    EXPECT_CODE(Code::Internal, refused);
    EXPECT_THAT(refused.error().message(), HasSubstr(file()));
    EXPECT_THAT(refused.error().hint(), HasSubstr("damaged"));
  }
  ASSERT_OK(sys::write_file(file(), whole, 0600));
  reopen();
}

TEST_F(Stores, AFullDiskIsExhausted) {
  std::string path = folder_ + "/full.db";
  ASSERT_OK(sys::write_file(path, "", 0600));
  std::unique_ptr<Database> database = std::move(*Database::open(path));
  ASSERT_OK(database->execute("CREATE TABLE t (x TEXT); PRAGMA max_page_count = 10"));
  EXPECT_CODE(Code::Exhausted, database->run("INSERT INTO t VALUES (?)", std::string(100'000, 'x')));
  EXPECT_TRUE(database->run("INSERT INTO t VALUES (?)", std::string("short")));
}

TEST_F(Stores, CheckpointsALongJournal) {
  SandboxRecord record = sandbox("a");
  record.spec = std::string(100'000, 'x');
  ASSERT_OK(store_->insert_sandbox(record, {}, {}));
  for (int i = 0; i < 200; ++i) {
    record.spec.assign(100'000, static_cast<char>('a' + i % 2));
    ASSERT_OK(store_->update_sandbox(record, {}));
    ASSERT_OK(store_->update_project({"default", "{}", 1}, {}));  // is committed at once, and with it what was before
  }
  EXPECT_LT(sys::stat(file())->st_size, 100'000);
  ASSERT_OK(store_->checkpoint());
  EXPECT_GT(sys::stat(file())->st_size, 100'000);
  ASSERT_OK(store_->update_sandbox(record, {}));
  EXPECT_EQ(store_->find_sandbox("", "a").value(), record);
}

// --- what outlives a sandbox -----------------------------------------------------------------------------------------

TEST_F(Stores, KeepsTheExecsOfARetiredSandboxUntilItIsForgotten) {
  ASSERT_OK(store_->insert_sandbox(sandbox("a", "web"), {}, {}));
  ASSERT_OK(store_->insert_sandbox(sandbox("b"), {}, {}));
  ExecRecord ended = exec("x", "a"), running = exec("y", "a");
  ended.state = kExecEnded;
  ASSERT_OK(store_->insert_exec(ended, {}));
  ASSERT_OK(store_->insert_exec(running, {}));
  ASSERT_OK(store_->insert_exec(exec("z", "b"), {}));
  const RemovedSandbox removed = {"a", "default", 77, 1234};
  EventDraft gone = event("sandbox.deleted");
  EXPECT_EQ(store_->retire_sandbox(removed, {&gone, 1}).value(), 1u);
  EXPECT_CODE(Code::NotFound, store_->retire_sandbox(removed, {&gone, 1}));
  EXPECT_CODE(Code::NotFound, store_->find_sandbox("", "a"));
  EXPECT_CODE(Code::NotFound, store_->insert_exec(exec("late", "a"), {}));
  reopen();
  EXPECT_EQ(store_->find_exec("a", "x").value(), ended);
  EXPECT_CODE(Code::NotFound, store_->find_exec("a", "y"));
  EXPECT_EQ(store_->find_removed("default", "a").value(), removed);
  EXPECT_CODE(Code::NotFound, store_->find_removed("other", "a"));
  EXPECT_CODE(Code::NotFound, store_->find_removed("default", "b"));
  EXPECT_THAT(store_->removed_sandboxes().value(), ElementsAre(removed));
  ASSERT_OK(store_->insert_sandbox(sandbox("c", "web"), {}, {}));  // the name is free
  ASSERT_OK(store_->forget_removed("a"));
  ASSERT_OK(store_->forget_removed("b"));  // is not gone
  EXPECT_CODE(Code::NotFound, store_->find_exec("a", "x"));
  EXPECT_TRUE(store_->find_exec("b", "z"));
  EXPECT_THAT(store_->removed_sandboxes().value(), IsEmpty());
}

TEST_F(Stores, AProjectTakesWhatOutlivedItsSandboxesAlong) {
  ASSERT_OK(store_->insert_project({"p", "{}", 1}, {}));
  SandboxRecord record = sandbox("a");
  record.project = "p";
  ASSERT_OK(store_->insert_sandbox(record, {}, {}));
  ExecRecord ended = exec("x", "a");
  ended.state = kExecEnded;
  ASSERT_OK(store_->insert_exec(ended, {}));
  UsageRecord usage;
  usage.project = "p";
  ASSERT_OK(store_->end_exec(ended, usage, {}));
  OperationRecord pull;
  pull.id = "o";
  pull.project = "p";
  ASSERT_OK(store_->insert_operation(pull));
  ASSERT_OK(store_->retire_sandbox({"a", "p", 1, 1}, {}));
  ASSERT_OK(store_->remove_project("p", {}));
  EXPECT_CODE(Code::NotFound, store_->find_exec("a", "x"));
  EXPECT_CODE(Code::NotFound, store_->find_removed("", "a"));
  EXPECT_CODE(Code::NotFound, store_->find_operation("", "o"));
  EXPECT_EQ(store_->total_usage({.project = "p"})->execs, 0u);
}

// --- usage -----------------------------------------------------------------------------------------------------------

class Usages : public Stores {
 protected:
  void end(const std::string& project, const std::string& sandbox_id, const std::string& in_session, int64_t time,
           uint64_t figure, const std::string& context = "") {
    if (!store_->find_sandbox("", sandbox_id)) {
      SandboxRecord record = sandbox(sandbox_id);
      record.project = project;
      ASSERT_OK(store_->insert_sandbox(record, {}, {}));
    }
    ExecRecord record = exec("x" + std::to_string(++made_), sandbox_id);
    ASSERT_OK(store_->insert_exec(record, {}));
    record.state = kExecEnded;
    UsageRecord usage;
    usage.project = project;
    usage.sandbox_id = sandbox_id;
    usage.session = in_session;
    usage.exec_id = record.id;
    usage.context_id = context;
    usage.status = "success";
    usage.ended_ms = time;
    for (const UsageField& field : kUsageFields) usage.figures.*field.figure = figure;
    ASSERT_OK(store_->end_exec(record, usage, {}));
  }
  int made_ = 0;
};

TEST_F(Usages, AreAddedUpByProjectTimeSandboxAndSession) {
  ASSERT_OK(store_->insert_project({"p", "{}", 1}, {}));
  SessionRecord of_agent = session("s1", "coder");
  of_agent.project = "p";
  ASSERT_OK(store_->insert_session(of_agent, {}));
  end("p", "a", "s1", 100, 1);
  end("p", "a", "s2", 200, 2);
  end("p", "b", "", 300, 4);
  end("default", "c", "s1", 400, 8);
  auto total = [&](const UsageFilter& filter) {
    UsageTotal found = store_->total_usage(filter).value();
    return std::vector<uint64_t>{found.execs, found.figures.cpu_user_ms, found.figures.memory_peak_bytes,
                                 found.figures.output_bytes};
  };
  EXPECT_THAT(total({.project = "p"}), ElementsAre(3, 7, 4, 7));
  EXPECT_THAT(total({.project = "p", .since_ms = 200}), ElementsAre(2, 6, 4, 6));
  EXPECT_THAT(total({.project = "p", .since_ms = 100, .until_ms = 200}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "p", .sandbox_id = "a"}), ElementsAre(2, 3, 2, 3));
  EXPECT_THAT(total({.project = "p", .sandbox_id = "c"}), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(total({.project = "p", .session = "s1"}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "p", .agent = "coder"}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(total({.project = "none"}), ElementsAre(0, 0, 0, 0));

  std::vector<UsageTotal> by_sandbox = store_->usage_by(Store::UsageBy::Sandbox, {.project = "p"}, "", 10).value();
  ASSERT_THAT(by_sandbox, SizeIs(2));
  EXPECT_EQ(by_sandbox[0].of, "a");
  EXPECT_EQ(by_sandbox[0].execs, 2u);
  EXPECT_EQ(by_sandbox[1].figures.duration_ms, 4u);
  EXPECT_EQ(store_->usage_by(Store::UsageBy::Sandbox, {.project = "p"}, "a", 10)->front().of, "b");
  std::vector<UsageTotal> by_session = store_->usage_by(Store::UsageBy::Session, {.project = "p"}, "", 10).value();
  ASSERT_THAT(by_session, SizeIs(2));
  EXPECT_EQ(by_session[1].of, "s2");

  // They stay when the sandbox is gone, until their time is over.
  ASSERT_OK(store_->remove_sandbox("a", {}));
  EXPECT_THAT(total({.project = "p"}), ElementsAre(3, 7, 4, 7));
  EXPECT_EQ(store_->prune_usage(200).value(), 1u);
  EXPECT_THAT(total({.project = "p"}), ElementsAre(2, 6, 4, 6));
}

TEST_F(Usages, OfCodeInAContextAreNotCountedAgainWithItsInterpreter) {
  end("default", "a", "s1", 100, 10, "x3");
  end("default", "a", "s2", 200, 20, "x3");
  end("default", "a", "", 300, 35);  // x3, the interpreter: the code, and 5 of its own
  const UsageTotal total = store_->total_usage({.project = "default"}).value();
  EXPECT_EQ(total.figures.cpu_user_ms, 35u);
  EXPECT_EQ(total.figures.memory_peak_bytes, 35u);
  EXPECT_EQ(store_->total_usage({.project = "default", .session = "s2"})->figures.cpu_user_ms, 20u);
}

TEST_F(Usages, AreOnRecordWithTheEndOrNotAtAll) {
  EXPECT_CODE(Code::NotFound, store_->end_exec(exec("none", "none"), {}, {}));
  EXPECT_EQ(store_->total_usage({.project = "default"})->execs, 0u);
}

// --- operations ------------------------------------------------------------------------------------------------------

TEST_F(Stores, KeepsOperationsOverARestart) {
  auto make = [](const std::string& id, const std::string& kind, int64_t created_ms) {
    OperationRecord record;
    record.id = id;
    record.kind = kind;
    record.target = "image:1";
    record.created_ms = record.updated_ms = created_ms;
    return record;
  };
  OperationRecord first = make("a", "pull", 1), second = make("b", "load", 2), third = make("c", "pull", 3);
  for (const OperationRecord& each : {first, second, third}) ASSERT_OK(store_->insert_operation(each));
  EXPECT_CODE(Code::Exists, store_->insert_operation(first));
  first.state = "succeeded";
  first.progress = R"({"done_bytes":5})";
  first.result = R"({"ok":true})";
  first.version = 9;
  first.updated_ms = first.ended_ms = 50;
  ASSERT_OK(store_->update_operation(first));
  reopen();
  EXPECT_EQ(store_->find_operation("default", "a").value(), first);
  EXPECT_CODE(Code::NotFound, store_->find_operation("other", "a"));
  EXPECT_THAT(ids(store_->list_operations({}, "", 10).value()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids(store_->list_operations({}, cursor(first), 1).value()), ElementsAre("b"));
  EXPECT_THAT(ids(store_->list_operations({.project = "default", .state = "running", .kind = "pull"}, "", 10).value()),
              ElementsAre("c"));
  EXPECT_EQ(store_->interrupt_operations(R"({"code":"interrupted"})", 60).value(), 2u);
  OperationRecord interrupted = store_->find_operation("", "b").value();
  EXPECT_EQ(interrupted.state, "failed");
  EXPECT_EQ(interrupted.error, R"({"code":"interrupted"})");
  EXPECT_EQ(interrupted.version, 2u);
  EXPECT_EQ(interrupted.ended_ms, 60);
  EXPECT_EQ(store_->prune_operations(60).value(), 1u);
  EXPECT_THAT(ids(store_->list_operations({}, "", 10).value()), ElementsAre("b", "c"));
}

// --- how events are found --------------------------------------------------------------------------------------------

TEST_F(Stores, FindsEventsByAnIndexOfTheirOwn) {
  EventFilter by_project, by_sandbox, by_session;
  by_project.project = by_sandbox.project = by_session.project = "default";
  by_project.kinds = {"exec.ended"};
  by_sandbox.sandbox_id = "a";
  by_session.session = "s";
  const std::pair<EventFilter, std::string> cases[] = {
      {by_project, "SEARCH events USING INDEX events_by_project (project=? AND seq>? AND seq<?)"},
      {by_sandbox, "SEARCH events USING INDEX events_by_sandbox (sandbox_id=? AND seq>? AND seq<?)"},
      {by_session, "SEARCH events USING INDEX events_by_session (session=? AND seq>? AND seq<?)"}};
  for (const auto& [filter, expected] : cases) {
    // Its statements are known by their addresses.
    std::unique_ptr<Database> database = std::move(*Database::open(file()));
    const std::string explain = concat("EXPLAIN QUERY PLAN ", std::string_view(event_query(filter)));
    Query plan = database->query(explain.c_str()).value();
    ASSERT_TRUE(plan.next().value());
    EXPECT_EQ(plan.text(3), expected);
    while (plan.next().value()) EXPECT_THAT(plan.text(3), testing::Not(HasSubstr("TEMP B-TREE")));
  }
}

TEST_F(Stores, FiltersEventsOfOneProjectAmongManyOfOthers) {
  std::vector<EventDraft> many(500, event("exec.ended", "other"));
  ASSERT_OK(store_->append_events(many));
  EventDraft mine = event("exec.ended", "mine");
  mine.sandbox_id = "a";
  mine.data = R"({"session":"s","status":"success"})";
  EventDraft odd = event("file.written", "mine");
  odd.data = R"({"session":{"not":"a text"},"path":"\"session\":"})";
  ASSERT_OK(store_->append_events(std::vector{mine, odd}));
  ASSERT_OK(store_->append_events(many));
  auto found = [&](EventFilter filter) {
    filter.project = "mine";
    std::vector<uint64_t> numbers;
    const std::vector<EventRecord> events = store_->events_after(0, filter, 100).value();
    for (const EventRecord& each : events) numbers.push_back(each.seq);
    return numbers;
  };
  EXPECT_THAT(found({}), ElementsAre(501, 502));
  EXPECT_THAT(found({.kinds = {"exec"}}), ElementsAre(501));
  EXPECT_THAT(found({.kinds = {"file.written"}}), ElementsAre(502));
  EXPECT_THAT(found({.sandbox_id = "a"}), ElementsAre(501));
  EXPECT_THAT(found({.session = "s"}), ElementsAre(501));
  EXPECT_THAT(found({.sandbox_id = "a", .session = "other"}), IsEmpty());
}

// --- copies before a change of the schema ----------------------------------------------------------------------------

TEST_F(Stores, BacksUpBeforeItMigratesAndKeepsTheLastTwo) {
  const std::string old = folder_ + "/old";
  const std::string path = old + "/cove.db";
  ASSERT_OK(sys::mkdir(old, 0700));
  ASSERT_OK(sys::write_file(path, "", 0600));
  std::unique_ptr<Database> database = std::move(*Database::open(path));
  auto copies = [&] {
    std::vector<std::string> names;
    const std::vector<std::string> all = sys::list_folder(old).value();
    for (const std::string& name : all)
      if (name.starts_with("cove.db.backup")) names.push_back(name);
    return names;
  };
  for (size_t version = 1; version <= migrations().size(); ++version) {
    ASSERT_OK(back_up_before_migration(*database, path, migrations().first(version)));
    ASSERT_OK(migrate(*database, migrations().first(version)));
    ASSERT_OK(back_up_before_migration(*database, path, migrations().first(version)));  // nothing to do
  }
  const size_t newest = migrations().size();
  EXPECT_THAT(copies(), ElementsAre(concat("cove.db.backup-v", newest - 2), concat("cove.db.backup-v", newest - 1)));
  EXPECT_EQ(sys::stat(concat(path, ".backup-v", newest - 1))->st_mode & 0777, 0600u);
  std::unique_ptr<Database> copy = std::move(*Database::open(concat(path, ".backup-v", newest - 1)));
  EXPECT_EQ(version_of(*copy).value(), static_cast<int64_t>(newest - 1));
}

// Of version 4, with what moves: execs, events with a session, and usage from the ends of execs.
TEST_F(Stores, MigratesExecsEventsAndUsage) {
  const std::string old = folder_ + "/fourth";
  ASSERT_OK(sys::mkdir(old, 0700));
  ASSERT_OK(sys::write_file(old + "/cove.db", "", 0600));
  {
    std::unique_ptr<Database> database = std::move(*Database::open(old + "/cove.db"));
    ASSERT_OK(migrate(*database, migrations().first(4)));
    ASSERT_OK(database->execute(
        "INSERT INTO sandboxes VALUES ('a', 'default', 'web', 'running', 'because', 1000, 2, 3, 4, 5, '{}', '');"
        "INSERT INTO execs VALUES ('x', 'a', 'ended', 'tag', 1, 2, 3, '{\"argv\":[]}', '{}', 's');"
        "INSERT INTO events VALUES (1, 9000, 'exec.ended', 'default', 'a', 'x', 'uid:0', "
        "  '{\"status\":\"success\",\"duration_ms\":50,\"cpu_user_ms\":7,\"memory_peak_bytes\":9,\"session\":\"s\"}');"
        "INSERT INTO events VALUES (2, 9000, 'exec.ended', 'default', 'a', 'y', 'uid:0', 'no JSON')"));
  }
  std::unique_ptr<Store> store = std::move(*Store::open(old));
  ExecRecord moved = store->find_exec("a", "x").value();
  EXPECT_EQ(moved.session, "s");
  EXPECT_EQ(moved.position, 3u);
  EXPECT_EQ(moved.spec, R"({"argv":[]})");
  EXPECT_THAT(store->events_after(0, EventFilter{.session = "s"}, 10).value(), SizeIs(1));
  UsageTotal total = store->total_usage({.project = "default", .session = "s"}).value();
  EXPECT_EQ(total.execs, 1u);
  EXPECT_EQ(total.figures.cpu_user_ms, 7u);
  EXPECT_EQ(total.figures.duration_ms, 50u);
}

// SQLite could copy every page that it frees into memory, and keep that.
TEST_F(Stores, RemovingLargeResultsTakesLittleMemory) {
  constexpr int kExecs = 20;
  constexpr size_t kResult = 2 << 20;
  ASSERT_OK(store_->insert_sandbox(sandbox("a"), {}, {}));
  for (int i = 0; i < kExecs; ++i) {
    ExecRecord record = exec("e" + std::to_string(i), "a");
    record.result.assign(kResult, 'x');
    ASSERT_OK(store_->insert_exec(record, {}));
  }
  ASSERT_OK(store_->update_project({"default", "{}", 1}, {}));
  const sqlite3_int64 before = sqlite3_memory_used();
  sqlite3_memory_highwater(1);
  ASSERT_OK(store_->remove_sandbox("a", {}));
  ASSERT_OK(store_->update_project({"default", "{}", 1}, {}));
  EXPECT_LT(sqlite3_memory_highwater(0) - before, 12 << 20);
}

}  // namespace
}  // namespace cove
