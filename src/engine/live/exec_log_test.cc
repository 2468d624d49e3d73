#include "engine/live/exec_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "sys/file.h"

namespace cove::live {
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
  EXPECT_LT(static_cast<uint64_t>(info.st_blocks) * 512, ExecLog::kWindow + ExecLog::kSlack + (8u << 20));
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

}  // namespace
}  // namespace cove::live

// With --take-stdin-into PATH it is the server that is killed; else the tests.
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--take-stdin-into") {
    cove::live::ExecLog log(argv[2]);
    static_cast<void>(log.take(cove::live::Stream::Out, 0));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
