#include "engine/sandbox/review_base.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "sys/file.h"

namespace cove::engine {
namespace {

using testing::HasSubstr;

// cove-record that says what it is told, and then nothing more, but does not end by itself.
class FakeRecord : public HostProcess {
 public:
  FakeRecord(int& kills, const std::string& says) : kills_(kills), told_(::eventfd(0, EFD_CLOEXEC)) {
    sys::Pipe output = *sys::pipe();
    sys::Pipe errors = *sys::pipe();
    EXPECT_TRUE(sys::write_all(output.write.get(), says));
    out = std::move(output.read);
    err = std::move(errors.read);
    held_ = std::move(output.write);
  }
  int end_fd() const override { return told_.get(); }
  Result<HostRunEnd> end() override { return HostRunEnd{}; }
  void kill() override { ++kills_; }

 private:
  int& kills_;
  UniqueFd told_;
  UniqueFd held_;
};

class FakeRuntime : public Runtime {
 public:
  Capabilities capabilities() const override { return {}; }
  Result<std::unique_ptr<Sandbox>> create(const SandboxSpec&) override { return fail(Code::Unsupported, "no"); }
  Result<std::unique_ptr<Sandbox>> adopt(const SandboxSpec&) override { return fail(Code::Unsupported, "no"); }
  Result<void> remove_files(const SandboxSpec&) override { return {}; }
  Result<void> sweep(const std::vector<std::string>&) override { return {}; }
  Result<std::unique_ptr<HostProcess>> record_base(const Workspace&) override {
    return std::make_unique<FakeRecord>(kills, says);
  }
  int kills = 0;
  std::string says;
};

class RecordBase : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(::mkdtemp(folder_)); }
  void TearDown() override { static_cast<void>(sys::remove_tree(folder_)); }
  Error failure(const RecordPatience& patience) {
    Result<change::BaseHead> head = record_base(runtime_, {.path = "/big"}, std::string(folder_) + "/base", patience);
    EXPECT_FALSE(head);
    EXPECT_EQ(runtime_.kills, 1);
    EXPECT_FALSE(sys::exists(std::string(folder_) + "/base"));
    return head ? Error(Code::Internal, "none") : head.error();
  }
  char folder_[32] = "/tmp/cove-base-XXXXXX";
  FakeRuntime runtime_;
};

TEST_F(RecordBase, IsGivenUpWhenItTakesTooLong) {
  Error error = failure({.time = std::chrono::milliseconds(20)});
  EXPECT_EQ(error.code(), Code::Unsupported);
  EXPECT_THAT(error.message(), HasSubstr("record what /big is like: it takes longer than"));
  EXPECT_THAT(error.hint(), HasSubstr("smaller folder"));
}

TEST_F(RecordBase, IsGivenUpInTheMiddleOfIt) {
  runtime_.says = "base 100\n{";
  EXPECT_EQ(failure({.time = std::chrono::milliseconds(20)}).code(), Code::Unsupported);
}

TEST_F(RecordBase, IsGivenUpWhenNobodyWaitsForIt) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  UniqueFd ours(ends[0]);
  UniqueFd(ends[1]).reset();
  Error error = failure({.peer = ours.get()});
  EXPECT_EQ(error.code(), Code::Unavailable);
  EXPECT_THAT(error.message(), HasSubstr("nobody waits"));
}

}  // namespace
}  // namespace cove::engine
