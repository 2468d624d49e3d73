#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "store/database.h"
#include "store/store.h"
#include "sys/file.h"

// Changes that are in the redo log only: a server that is killed leaves them so.
namespace cove {
namespace {

SandboxRecord sandbox(const std::string& id, size_t size = 10) {
  SandboxRecord record;
  record.id = id;
  record.state = "running";
  record.spec = std::string(size, 'x');
  return record;
}

bool insert(Store& store, const std::string& id, size_t size = 10) {
  return store.insert_sandbox(sandbox(id, size), {}, {}).has_value();
}

std::string ids(Store& store) {
  std::string text;
  std::vector<SandboxRecord> all = store.all_sandboxes().value();
  for (const SandboxRecord& record : all) text += record.id;
  return text;
}

class RedoLogs : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-redo-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    live_ = top_ + "/live";
    store_ = std::move(*Store::open(live_));
  }
  void TearDown() override {
    store_.reset();
    EXPECT_TRUE(sys::remove_tree(top_));
  }

  // The folder as it is now: what a killed server would leave.
  std::string killed() {
    std::string copy = top_ + "/killed" + std::to_string(++copies_);
    std::filesystem::copy(live_, copy);
    std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
    return copy;
  }
  static std::string log(const std::string& folder) { return folder + "/cove.redo"; }
  static std::string ids_in(const std::string& folder) { return ids(**Store::open(folder)); }

  std::string top_, live_;
  std::unique_ptr<Store> store_;
  int copies_ = 0;
};

TEST_F(RedoLogs, AreDoneAgainOnce) {
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(insert(*store_, id));
  ASSERT_TRUE(store_->remove_sandbox("b", {}));
  std::string folder = killed();
  {
    std::unique_ptr<Database> database = std::move(*Database::open(folder + "/cove.db"));
    ASSERT_EQ(database->number("SELECT count(*) FROM sandboxes").value(), 0) << "else this tests nothing";
  }
  EXPECT_EQ(ids_in(folder), "ac");
  EXPECT_EQ(ids_in(folder), "ac");
}

TEST_F(RedoLogs, OfOneBatchAfterAnother) {
  for (const char* id : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(insert(*store_, id));
    if (*id == 'b') {
      ASSERT_TRUE(store_->checkpoint());
    }
  }
  EXPECT_EQ(ids_in(killed()), "abcd");
  // What of the longer batch lies behind the end of the shorter one is not done.
  ASSERT_TRUE(store_->checkpoint());
  ASSERT_TRUE(insert(*store_, "e"));
  EXPECT_EQ(ids_in(killed()), "abcde");
}

TEST_F(RedoLogs, EndWhereTheyAreTorn) {
  ASSERT_TRUE(insert(*store_, "a"));
  size_t whole = std::filesystem::file_size(log(live_));
  ASSERT_TRUE(insert(*store_, "b"));
  std::string folder = killed();
  std::filesystem::resize_file(log(folder), whole + 20);
  EXPECT_EQ(ids_in(folder), "a");
  folder = killed();
  std::string bytes = sys::read_file(log(folder)).value();
  bytes[whole + 30] ^= 1;
  ASSERT_TRUE(sys::write_file(log(folder), bytes, 0600));
  EXPECT_EQ(ids_in(folder), "a");
  for (const std::string& nonsense : {std::string(), std::string("x"), std::string(500, 'y')}) {
    folder = killed();
    ASSERT_TRUE(sys::write_file(log(folder), nonsense, 0600));
    EXPECT_EQ(ids_in(folder), "");
  }
}

TEST_F(RedoLogs, OfAnotherDatabaseAreNotDone) {
  ASSERT_TRUE(insert(*store_, "a"));
  std::string folder = killed();
  for (const char* name : {"/cove.db", "/cove.db-wal", "/cove.db-shm"}) std::filesystem::remove(folder + name);
  EXPECT_EQ(ids_in(folder), "");
  // One that went another way from here.
  folder = killed();
  ASSERT_TRUE(insert(**Store::open(folder), "z"));
  ASSERT_TRUE(store_->checkpoint());
  ASSERT_TRUE(insert(*store_, "b"));
  std::filesystem::copy(log(live_), log(folder), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(ids_in(folder), "az");
}

TEST_F(RedoLogs, DoNotHaveWhatFailed) {
  ASSERT_TRUE(insert(*store_, "a"));
  EXPECT_FALSE(insert(*store_, "a"));
  EXPECT_FALSE(store_->remove_sandbox("b", {}));
  ASSERT_TRUE(insert(*store_, "c"));
  EXPECT_EQ(ids_in(killed()), "ac");
}

// In a namespace of its own, whose disk is small.
bool mount_small_disk(const std::string& at) {
  if (::unshare(CLONE_NEWNS) < 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return false;
  ::mount("", "/", "", MS_REC | MS_PRIVATE, "");
  return ::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=4m,mode=0700") == 0;
}

#define MUST(...) \
  if (!(__VA_ARGS__)) return __LINE__

// As many as there is room for. 0 where all is as it should be, else the line.
int fill(const std::string& folder, std::string& done) {
  Result<std::unique_ptr<Store>> store = Store::open(folder);
  MUST(store);
  Result<uint64_t> last = 0;
  for (char id = 'a'; id <= 'z' && last; ++id) {
    last = (*store)->insert_sandbox(sandbox(std::string(1, id), 100'000), {}, {});
    if (last) done += id;
  }
  MUST(!last && last.error().code() == Code::Exhausted);
  MUST(ids(**store) == done);
  return 0;
}

int live_on_small_disk(const std::string& folder) {
  MUST(mount_small_disk(folder));
  MUST(sys::write_file(folder + "/ballast", std::string(5 << 19, 'x'), 0600));
  std::string done;
  if (int line = fill(folder, done); line != 0) return line;
  for (bool full : {true, false}) {
    if (!full) std::filesystem::remove(folder + "/ballast");
    Result<std::unique_ptr<Store>> store = Store::open(folder);
    MUST(store);
    MUST(ids(**store) == done);
    if (!full) MUST(insert(**store, "~") && (*store)->checkpoint());
  }
  Result<std::unique_ptr<Store>> store = Store::open(folder);
  MUST(store);
  MUST(ids(**store) == done + "~");
  return 0;
}

#undef MUST

TEST_F(RedoLogs, OutliveAFullDisk) {
  std::string folder = top_ + "/small";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  pid_t child = ::fork();
  if (child == 0) {
    int line = live_on_small_disk(folder);
    std::fprintf(stderr, line == 0 ? "" : "redo_test.cc:%d failed\n", line);
    ::_exit(line == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cove
