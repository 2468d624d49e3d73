#include <sqlite3.h>

#include <set>

#include "base/text.h"
#include "store/store_fixture.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
