#include "engine/exec/exec_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/exec/log_budget.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

class ExecLogTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-log-XXXXXX";
    folder_ = ::mkdtemp(name);
    pipe_ = *sys::pipe();
    ASSERT_TRUE(sys::set_nonblocking(pipe_.read.get()));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void put(ExecLog& log, Stream stream, const std::string& text) {
    ASSERT_TRUE(sys::write_all(pipe_.write.get(), text));
    Result<std::optional<size_t>> taken = log.take(stream, pipe_.read.get());
    ASSERT_TRUE(taken && *taken) << (taken ? "nothing" : taken.error().message());
    ASSERT_EQ(**taken, text.size());
  }
  static std::string joined(const std::vector<Chunk>& chunks) {
    std::string text;
    for (const Chunk& chunk : chunks)
      text += std::to_string(chunk.seq) + (chunk.stream == Stream::Out ? "o" : "e") + chunk.data;
    return text;
  }
  std::string read_from(ExecLog& log, uint64_t seq) {
    Result<ExecLog::Position> at = log.find(seq);
    EXPECT_TRUE(at);
    return joined(*log.read(*at, 1 << 20));
  }
  std::string path() const { return folder_ + "/log"; }

  std::string folder_;
  sys::Pipe pipe_;
};

TEST_F(ExecLogTest, MakesNoFileWithoutOutput) {
  ExecLog log(path());
  EXPECT_EQ(read_from(log, 1), "");
  EXPECT_EQ(log.next_seq(), 1u);
  EXPECT_FALSE(sys::exists(path()));
}

TEST_F(ExecLogTest, KeepsTheOrderOfBothStreams) {
  ExecLog log(path());
  put(log, Stream::Out, "one");
  put(log, Stream::Err, "two");
  put(log, Stream::Out, "three");
  EXPECT_EQ(read_from(log, 1), "1oone2etwo3othree");
  EXPECT_EQ(read_from(log, 2), "2etwo3othree");
  EXPECT_EQ(read_from(log, 4), "");
  Result<ExecLog::Captured> captured = log.capture(1000);
  ASSERT_TRUE(captured);
  EXPECT_EQ(captured->out.data, "onethree");
  EXPECT_EQ(captured->err.data, "two");
}

TEST_F(ExecLogTest, TakesWhatThisProcessHasInPieces) {
  constexpr size_t kPiece = 1 << 20;
  {
    ExecLog log(path());
    ASSERT_TRUE(log.add(Stream::Out, ""));
    EXPECT_FALSE(sys::exists(path()));
    put(log, Stream::Out, "one");
    ASSERT_TRUE(log.add(Stream::Err, "two"));
    EXPECT_EQ(read_from(log, 1), "1oone2etwo");
    ASSERT_TRUE(log.add(Stream::Out, std::string(kPiece + 1, 'x')));
    EXPECT_EQ(log.next_seq(), 5u);
  }
  ExecLog log(path());
  ASSERT_TRUE(log.recover());
  EXPECT_EQ(log.bytes(), 6 + kPiece + 1);
  EXPECT_EQ(read_from(log, 4), "4ox");
}

TEST_F(ExecLogTest, IsContinuedByANextServer) {
  {
    ExecLog log(path());
    put(log, Stream::Out, "before");
  }
  ExecLog log(path());
  ASSERT_TRUE(log.recover());
  EXPECT_EQ(log.next_seq(), 2u);
  put(log, Stream::Err, "after");
  EXPECT_EQ(read_from(log, 1), "1obefore2eafter");
  EXPECT_EQ(log.bytes(), 11u);
}

// At each point at which a server can be killed, the program's output is in the pipe or in the log, never gone.
TEST_F(ExecLogTest, LosesNothingWhereverTheServerIsKilled) {
  for (const char* point : {"log.frame.opened", "log.frame.moved", "log.frame.closed"}) {
    std::filesystem::remove(path());
    ASSERT_TRUE(sys::write_all(pipe_.write.get(), "precious"));
    pid_t pid = ::fork();
    if (pid == 0) {
      ::setenv("COVE_CRASH_AT", point, 1);
      std::string self = std::filesystem::read_symlink("/proc/self/exe");
      ::dup2(pipe_.read.get(), 0);
      ::execl(self.c_str(), self.c_str(), "--take-stdin-into", path().c_str(), nullptr);
      ::_exit(127);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << point << " was not reached";
    ExecLog log(path());
    ASSERT_TRUE(log.recover());
    while (true) {
      Result<std::optional<size_t>> taken = log.take(Stream::Out, pipe_.read.get());
      ASSERT_TRUE(taken);
      if (!*taken) break;
    }
    EXPECT_EQ(read_from(log, 1), "1oprecious") << point;
  }
}

TEST_F(ExecLogTest, LetsTheOldestGoAndKeepsTheDiskSmall) {
  ExecLog log(path());
  ::fcntl(pipe_.write.get(), F_SETPIPE_SZ, 1 << 20);
  std::string piece(1 << 20, 'x');
  for (int i = 0; i < 200; ++i) put(log, Stream::Out, piece);
  put(log, Stream::Err, "the end");
  struct stat info = *sys::stat(path());
  EXPECT_LT(static_cast<uint64_t>(info.st_blocks) * 512,
            ExecLog::kWindow + ExecLog::kWindow / ExecLog::kSlackPart + (8u << 20));
  Result<ExecLog::Captured> captured = log.capture(1000);
  ASSERT_TRUE(captured);
  EXPECT_EQ(captured->out.bytes, 200u << 20);
  EXPECT_TRUE(captured->out.truncated);
  EXPECT_EQ(captured->err.data, "the end");
  ExecLog again(path());
  ASSERT_TRUE(again.recover());
  EXPECT_EQ(again.next_seq(), 202u);
  EXPECT_EQ(again.bytes(), (200u << 20) + 7);
  EXPECT_EQ(read_from(again, 201), "201ethe end");
}

TEST_F(ExecLogTest, KeepsLessWhereItMay) {
  ExecLog log(path());
  const std::string piece(32 << 10, 'x');
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(sys::write_all(pipe_.write.get(), piece));
    ASSERT_TRUE(log.take(Stream::Out, pipe_.read.get(), 1 << 20));
    ASSERT_LE(log.kept(), (1u << 20) + (1u << 18) + 2 * piece.size());
  }
  EXPECT_GE(log.kept(), 1u << 20);
}

TEST_F(ExecLogTest, AnEmptiedLogKeepsItsNumbers) {
  ExecLog log(path());
  put(log, Stream::Out, "one");
  put(log, Stream::Err, "three");
  ExecLog reader(path());
  ASSERT_TRUE(reader.recover());
  ExecLog::empty(path());
  EXPECT_EQ(read_from(reader, 1), "1oone2ethree");  // who reads it already has it to the end
  ExecLog again(path());
  ASSERT_TRUE(again.recover());
  EXPECT_EQ(again.kept(), 0u);
  EXPECT_EQ(again.bytes(), 8u);
  EXPECT_EQ(again.next_seq(), 3u);
  Result<ExecLog::Position> at = again.find(1);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->seq, 3u);  // so that its reader knows that nothing more comes
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

class LogBudgetTest : public ExecLogTest {
 protected:
  std::string log_of(char name) const { return folder_ + "/" + std::string(20, name); }
  // An exec that has written so much, while it runs.
  std::unique_ptr<LogBudget::Share> write(char name, size_t bytes) {
    auto share = std::make_unique<LogBudget::Share>(budget_, log_of(name));
    ExecLog log(log_of(name));
    for (; bytes > 0; bytes -= kPiece) put(log, Stream::Out, std::string(kPiece, name));
    share->set(log.kept());
    return share;
  }
  static uint64_t kept(const std::string& path) {
    ExecLog log(path);
    EXPECT_TRUE(log.recover());
    return log.kept();
  }

  std::shared_ptr<LogBudget> make_budget(uint64_t most) {
    return std::make_shared<LogBudget>(most, project_, [this](const std::string& path) { dropped_ += path.back(); });
  }

  static constexpr size_t kPiece = 32 << 10;
  std::string dropped_;  // records, by the last letter of their names
  std::shared_ptr<LogBudget::Counter> project_ = std::make_shared<LogBudget::Counter>(0);
  std::shared_ptr<LogBudget> budget_ = make_budget(4 * kPiece);
};

TEST_F(LogBudgetTest, EmptiesTheOldestOfEndedExecs) {
  for (char name : {'a', 'b', 'c'}) write(name, kPiece);
  EXPECT_GT(kept(log_of('a')), kPiece);
  write('d', kPiece);
  EXPECT_EQ(kept(log_of('a')), 0u);
  for (char name : {'b', 'c', 'd'}) EXPECT_GT(kept(log_of(name)), kPiece);
  EXPECT_LE(budget_->used(), 4 * kPiece);
  EXPECT_EQ(*project_, budget_->used());
}

TEST_F(LogBudgetTest, MakesRoomForThoseThatRun) {
  write('a', kPiece);
  auto running = write('b', 3 * kPiece);
  EXPECT_EQ(kept(log_of('a')), 0u);
  EXPECT_GT(kept(log_of('b')), 3 * kPiece);
}

TEST_F(LogBudgetTest, SharesItAmongThoseThatRun) {
  auto budget = make_budget(64 << 20);
  LogBudget::Share one(budget, log_of('a'));
  EXPECT_EQ(one.window(), 32u << 20);
  LogBudget::Share other(budget, log_of('b'));
  EXPECT_EQ(one.window(), 16u << 20);
}

// The results are kept longer than the logs.
TEST_F(LogBudgetTest, DropsTheOldestRecordsWhenTheLogsAreEmpty) {
  for (char name : {'a', 'b', 'c'}) write(name, kPiece)->set_record(kPiece);
  EXPECT_EQ(dropped_, "");
  for (char name : {'a', 'b', 'c'}) EXPECT_EQ(kept(log_of(name)), 0u) << name;
  write('d', kPiece)->set_record(3 * kPiece);
  EXPECT_EQ(dropped_, "ab");
  EXPECT_LE(budget_->used(), 4 * kPiece);
  write('e', kPiece)->set_record(9 * kPiece);
  EXPECT_EQ(dropped_, "abcd");
  EXPECT_EQ(budget_->used(), 9 * kPiece);
  EXPECT_EQ(*project_, budget_->used());
}

TEST_F(LogBudgetTest, HasRoomForSoManyThatRun) {
  auto budget = make_budget(4 * LogBudget::kLeastWindow);
  EXPECT_TRUE(budget->check_room());
  LogBudget::Share one(budget, log_of('a')), other(budget, log_of('b'));
  Result<void> room = budget->check_room();
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code(), Code::Exhausted);
}

TEST_F(LogBudgetTest, ForgetsWhatIsRemoved) {
  write('a', kPiece);
  budget_->forget(log_of('a'));
  EXPECT_EQ(budget_->used(), 0u);
  EXPECT_EQ(*project_, 0u);
  write('b', kPiece);
  budget_.reset();
  EXPECT_EQ(*project_, 0u);
}

TEST_F(LogBudgetTest, CountsWhatAnEarlierServerLeft) {
  for (char name : {'a', 'b', 'c'}) write(name, kPiece);
  ASSERT_TRUE(sys::write_file(folder_ + "/base", std::string(1 << 20, 'x'), 0600));  // of a workspace under review
  auto again = make_budget(64 << 20);
  again->recover(folder_, {});
  EXPECT_GT(again->used(), 3 * kPiece);
  EXPECT_LT(again->used(), 6 * kPiece);
  auto less = make_budget(kPiece);
  less->recover(folder_, {});
  EXPECT_EQ(less->used(), 0u);
  EXPECT_EQ(kept(log_of('c')), 0u);
  auto records = make_budget(64 << 20);
  records->recover(folder_, {{std::string(20, 'c'), 1000}, {std::string(20, 'z'), 500}});
  EXPECT_GE(records->used(), 1500u);
  records->forget(log_of('c'));
  records->forget(log_of('z'));
  EXPECT_LT(records->used(), 4 * kPiece);
}

}  // namespace
}  // namespace cove::engine

// With --take-stdin-into PATH it is the server that is killed; else the tests.
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--take-stdin-into") {
    cove::engine::ExecLog log(argv[2]);
    static_cast<void>(log.take(cove::engine::Stream::Out, 0));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
