#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "base/crash_point.h"
#include "base/text.h"
#include "store/database.h"
#include "store/schema.h"
#include "store/store.h"
#include "support/child.h"
#include "sys/file.h"

// The process is killed before and after each commit in turn. What the next one finds is exactly what was done up to
// there: changes with their events, and nothing by halves.
namespace cove {
namespace {

constexpr const char* kFolder = "COVE_TEST_STORE_FOLDER";

struct Step {
  std::string change;  // as in the name of its crash points
  std::function<bool(Store&, std::span<const EventDraft>)> act;
};

SandboxRecord sandbox() {
  SandboxRecord record;
  record.id = "s";
  record.project = "p";
  record.name = "web";
  record.state = "running";
  return record;
}

ExecRecord exec() {
  ExecRecord record;
  record.id = "x";
  record.sandbox_id = "s";
  return record;
}

SessionRecord session() {
  SessionRecord record;
  record.id = "n";
  record.project = "p";
  record.scope = "session";
  return record;
}

OperationRecord operation() {
  OperationRecord record;
  record.id = "o";
  record.project = "p";
  record.kind = "pull";
  return record;
}

const std::vector<Step>& steps() {
  using Events = std::span<const EventDraft>;
  static const std::vector<Step> list = {
      {"insert_project", [](Store& s, Events e) { return s.insert_project({"p", "{}", 1}, e).has_value(); }},
      {"update_project", [](Store& s, Events e) { return s.update_project({"p", "{1}", 1}, e).has_value(); }},
      {"insert_sandbox",
       [](Store& s, Events e) {
         return s
             .insert_sandbox(
                 sandbox(),
                 Idempotency{.project = "p", .key = "key", .request_hash = "hash", .made = "s", .time_ms = 1}, e)
             .has_value();
       }},
      {"update_sandbox",
       [](Store& s, Events e) {
         SandboxRecord record = sandbox();
         record.name = "other";
         record.state = "paused";
         return s.update_sandbox(record, e).has_value();
       }},
      {"touch_sandbox", [](Store& s, Events) { return s.touch_sandbox("s", 10, 20).has_value(); }},
      {"insert_exec", [](Store& s, Events e) { return s.insert_exec(exec(), e).has_value(); }},
      {"end_exec",
       [](Store& s, Events e) {
         ExecRecord record = exec();
         record.state = kExecEnded;
         UsageRecord usage;
         usage.sandbox_id = "s";
         usage.exec_id = "x";
         usage.ended_ms = 5;
         return s.end_exec(record, usage, e).has_value();
       }},
      {"insert_session", [](Store& s, Events e) { return s.insert_session(session(), e).has_value(); }},
      {"bind_session", [](Store& s, Events e) { return s.bind_session("n", "s", e).has_value(); }},
      {"touch_session", [](Store& s, Events) { return s.touch_session("n", 30).has_value(); }},
      {"end_session", [](Store& s, Events e) { return s.end_session("n", {"why", 40}, e).has_value(); }},
      {"prune_sessions", [](Store& s, Events) { return s.prune_sessions(100).has_value(); }},
      {"prune_execs", [](Store& s, Events) { return s.prune_execs("s", 0).has_value(); }},
      {"append_events", [](Store& s, Events e) { return s.append_events(e).has_value(); }},
      {"append_events", [](Store& s, Events e) { return s.append_events(e).has_value(); }},
      {"insert_key",
       [](Store& s, Events e) { return s.insert_key({"k", "name", "p", "read", "00", "11", 1, 0, 0}, e).has_value(); }},
      {"revoke_key", [](Store& s, Events e) { return s.revoke_key("k", 5, e).has_value(); }},
      {"put_secret",
       [](Store& s, Events e) {
         SecretRecord record;
         record.project = "p";
         record.name = "TOKEN";
         return s.put_secret(record, e).has_value();
       }},
      {"reseal_secrets",
       [](Store& s, Events) {
         SecretRecord record;
         record.project = "p";
         record.name = "TOKEN";
         record.sealed = "sealed";
         return s.reseal_secrets({"key", "seed"}, {&record, 1}).has_value();
       }},
      {"remove_secret", [](Store& s, Events e) { return s.remove_secret("p", "", "TOKEN", e).has_value(); }},
      {"make_secret", [](Store& s, Events) { return s.secret("tokens").has_value(); }},
      {"put_idempotency", [](Store& s, Events) { return s.put_idempotency({.project = "p", .key = "l"}).has_value(); }},
      {"forget_idempotency", [](Store& s, Events) { return s.forget_idempotency("p", "l").has_value(); }},
      {"prune_idempotency", [](Store& s, Events) { return s.prune_idempotency(100).has_value(); }},
      {"remove_sandbox", [](Store& s, Events e) { return s.remove_sandbox("s", e).has_value(); }},
      {"insert_sandbox",
       [](Store& s, Events e) {
         SandboxRecord record = sandbox();
         record.id = "t";
         return s.insert_sandbox(record, {}, e).has_value();
       }},
      {"insert_exec",
       [](Store& s, Events e) {
         ExecRecord record = exec();
         record.id = "y";
         record.sandbox_id = "t";
         record.state = kExecEnded;
         return s.insert_exec(record, e).has_value();
       }},
      {"retire_sandbox", [](Store& s, Events e) { return s.retire_sandbox({"t", "p", 1, 2}, e).has_value(); }},
      {"forget_removed", [](Store& s, Events) { return s.forget_removed("t").has_value(); }},
      {"prune_usage", [](Store& s, Events) { return s.prune_usage(10).has_value(); }},
      {"insert_operation", [](Store& s, Events) { return s.insert_operation(operation()).has_value(); }},
      {"update_operation",
       [](Store& s, Events) {
         OperationRecord record = operation();
         record.version = 2;
         return s.update_operation(record).has_value();
       }},
      {"interrupt_operations", [](Store& s, Events) { return s.interrupt_operations("{}", 5).has_value(); }},
      {"prune_operations", [](Store& s, Events) { return s.prune_operations(100).has_value(); }},
      {"remove_project", [](Store& s, Events e) { return s.remove_project("p", e).has_value(); }},
      {"prune_events", [](Store& s, Events) { return s.prune_events(0, 2).has_value(); }},
  };
  return list;
}

// Does the first `count` of the steps, each with an event of its name.
bool play(const std::string& folder, size_t count) {
  Result<std::unique_ptr<Store>> store = Store::open(folder);
  if (!store) return false;
  for (const Step& step : std::span(steps()).first(count)) {
    EventDraft event;
    event.kind = step.change;
    event.time_ms = 1;
    if (!step.act(**store, {&event, 1})) return false;
  }
  return true;
}

std::string rows(Database& database, const char* sql) {
  std::string text;
  Result<Query> query = database.query(sql);
  while (query && query->next().value()) text += query->text(0) + "\n";
  return text;
}

std::string everything(const std::string& folder) {
  static_cast<void>(Store::open(folder).value());
  std::unique_ptr<Database> database = std::move(*Database::open(folder + "/cove.db"));
  EXPECT_EQ(rows(*database, "PRAGMA integrity_check"), "ok\n");
  return rows(*database, "SELECT 'event ' || seq || ' ' || kind FROM events ORDER BY seq") +
         rows(*database, "SELECT 'project ' || id || ' ' || quotas FROM projects ORDER BY id") +
         rows(*database, "SELECT 'sandbox ' || id || name || state || last_used_ms || expires_ms FROM sandboxes") +
         rows(
             *database,
             "SELECT 'session ' || id || state || coalesce(sandbox_id, '') || last_used_ms || ended_ms FROM sessions") +
         rows(*database, "SELECT 'exec ' || id || state FROM execs") +
         rows(*database, "SELECT 'removed ' || id FROM removed_sandboxes") +
         rows(*database, "SELECT 'usage ' || exec_id FROM usage") +
         rows(*database, "SELECT 'operation ' || id || state || version FROM operations") +
         rows(*database, "SELECT 'idempotency ' || key FROM idempotency") +
         rows(*database, "SELECT 'key ' || id || ' ' || revoked_ms FROM keys") +
         rows(*database, "SELECT 'secret ' || name || sealed FROM project_secrets") +
         rows(*database, "SELECT 'seed ' || key_id || sealed FROM secret_seed") +
         rows(*database, "SELECT 'secret ' || name || length(value) FROM secrets");
}

class TempFolder {
 public:
  TempFolder() {
    char name[] = "/tmp/cove-store-crash-XXXXXX";
    if (::mkdtemp(name) == nullptr) std::abort();
    path = name;
  }
  ~TempFolder() { static_cast<void>(sys::remove_tree(path)); }
  std::string path;
};

// How many steps are done when the process dies there for the first time.
enum class Moment { Before, After };
size_t steps_until(const std::string& change, Moment moment) {
  for (size_t i = 0; i < steps().size(); ++i)
    if (steps()[i].change == change) return i + (moment == Moment::After ? 1 : 0);
  return 0;  // "migrate", before all of them
}

// Not a test: what the child does.
TEST(StoreCrash, DISABLED_PlayEverything) {
  const char* folder = std::getenv(kFolder);
  ASSERT_NE(folder, nullptr);
  ASSERT_TRUE(play(folder, steps().size()));
}

test::Outcome play_in_child(const std::string& folder, const std::string& crash_at) {
  test::ChildOptions options;
  options.env = {concat(std::string_view(kFolder), "=", folder), "COVE_CRASH_AT=" + crash_at};
  return test::run({"/proc/self/exe", "--gtest_also_run_disabled_tests", "--gtest_filter=*DISABLED_PlayEverything"},
                   options);
}

TEST(StoreCrash, EveryPointLeavesWholeChangesOnly) {
  std::set<std::string> tried;
  for (const std::string& point : crash_points()) {
    std::vector<std::string> words = split(point, '.');
    if (words[0] != "store") continue;
    SCOPED_TRACE(point);
    TempFolder crashed, expected;
    test::Outcome outcome = play_in_child(crashed.path, point);
    ASSERT_EQ(outcome.exit_code, 128 + 9) << outcome.out << outcome.err;
    ASSERT_TRUE(
        play(expected.path, steps_until(words[1], words[2] == "after_commit" ? Moment::After : Moment::Before)));
    EXPECT_EQ(everything(crashed.path), everything(expected.path));
    tried.insert(words[1]);
  }
  tried.erase("migrate");
  std::set<std::string> changes;
  for (const Step& step : steps()) changes.insert(step.change);
  EXPECT_EQ(tried, changes);
}

// A state of the version before, with something in it.
void make_old_state(const std::string& folder) {
  static_cast<void>(sys::open(folder + "/cove.db", O_RDWR | O_CREAT, 0600).value());
  std::unique_ptr<Database> database = std::move(*Database::open(folder + "/cove.db"));
  ASSERT_TRUE(migrate(*database, migrations().first(migrations().size() - 1)));
  ASSERT_TRUE(database->execute("INSERT INTO keys VALUES ('k', 'name', 'default', 'read', '00', '11', 1, 0, 0)"));
}

TEST(StoreCrash, AMigrationThatIsCutShortIsDoneByTheNextServer) {
  const std::string backup = concat("/cove.db.backup-v", migrations().size() - 1);
  for (const char* point : {"backup.copied", "store.migrate.before_commit", "store.migrate.after_commit"}) {
    SCOPED_TRACE(point);
    TempFolder folder;
    make_old_state(folder.path);
    ASSERT_EQ(play_in_child(folder.path, point).exit_code, 128 + 9);
    EXPECT_EQ(sys::exists(folder.path + backup), std::string(point) != "backup.copied");
    EXPECT_THAT(everything(folder.path), testing::HasSubstr("key k 0"));
    std::unique_ptr<Database> copy = std::move(*Database::open(folder.path + backup));
    EXPECT_EQ(version_of(*copy).value(), static_cast<int64_t>(migrations().size()) - 1);
    EXPECT_EQ(rows(*copy, "PRAGMA integrity_check"), "ok\n");
    EXPECT_EQ(rows(*copy, "SELECT 'key ' || id FROM keys"), "key k\n");
    EXPECT_FALSE(sys::exists(folder.path + backup + ".new"));
  }
}

TEST(StoreCrash, TheNthTimeCounts) {
  TempFolder crashed, expected;
  EXPECT_EQ(play_in_child(crashed.path, "store.append_events.before_commit:2").exit_code, 128 + 9);
  ASSERT_TRUE(play(expected.path, steps_until("append_events", Moment::After)));
  EXPECT_EQ(everything(crashed.path), everything(expected.path));
  TempFolder whole;
  EXPECT_EQ(play_in_child(whole.path, "store.append_events.before_commit:3").exit_code, 0);
}

TEST(StoreCrash, AMisspeltPointIsNoticed) {
  TempFolder folder;
  for (const char* wish :
       {"store.nothing", "store.insert_project.before_commit:x", "store.insert_project.before_commit:0"}) {
    test::Outcome outcome = play_in_child(folder.path, wish);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.err, testing::HasSubstr(wish));
  }
}

TEST(StoreCrash, PointsAreNamedOnce) {
  std::vector<std::string> points = crash_points();
  std::sort(points.begin(), points.end());
  EXPECT_EQ(std::adjacent_find(points.begin(), points.end()), points.end());
  EXPECT_THAT(points, testing::Contains("engine.create.recorded"));
}

}  // namespace
}  // namespace cove
