#include <set>
#include <thread>

#include "base/text.h"
#include "store/backup.h"
#include "store/database.h"
#include "store/event_query.h"
#include "store/schema.h"
#include "store/store_fixture.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

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

}  // namespace
}  // namespace cove
