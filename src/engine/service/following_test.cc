#include "engine/service/following.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "engine/service/testing.h"

namespace cove::engine {
namespace {

using testing::ElementsAre;
using Wake = CallerPresence::Wake;

class FakeExec : public Exec {
 public:
  ExecInfo info() const override { return what; }
  bool ended() const override { return what.state == ExecState::Ended; }
  std::optional<Error> failure() const override { return failed; }
  Result<std::unique_ptr<Follower>> follow(uint64_t) override { return fail(Code::Unsupported, ""); }
  Result<UniqueFd> end_fd() override { return UniqueFd(::eventfd(ended() ? 1 : 0, EFD_CLOEXEC)); }
  Result<void> write_input(std::string_view, std::chrono::milliseconds) override { return {}; }
  Result<size_t> offer_input(std::string_view, std::chrono::milliseconds) override { return size_t{0}; }
  Result<void> close_input() override { return {}; }
  Result<void> signal(int, bool) override { return {}; }
  Result<void> resize(WindowSize) override { return {}; }
  Result<void> kill() override {
    ++kills;
    return {};
  }

  ExecInfo what;
  std::optional<Error> failed;
  int kills = 0;
};

// Gives what it has, one by one, and then ends or has nothing.
class FakeFollower : public Follower {
 public:
  enum class After { End, Nothing };
  FakeFollower(std::deque<Chunk> chunks, After after)
      : chunks_(std::move(chunks)), after_(after), fd_(::eventfd(1, EFD_CLOEXEC)) {}
  Result<std::vector<Chunk>> next(size_t) override {
    std::vector<Chunk> chunks;
    if (!chunks_.empty()) chunks = {chunks_.front()}, chunks_.pop_front();
    return chunks;
  }
  bool at_end() const override { return chunks_.empty() && after_ == After::End; }
  int fd() const override { return fd_.get(); }

 private:
  std::deque<Chunk> chunks_;
  After after_;
  UniqueFd fd_;
};

TEST(WaitForEnd, KillsTheExecOfACallerWhoLeftWhereThatIsWished) {
  for (auto [wish, kills] : {std::pair(OnDisconnect::Kill, 1), std::pair(OnDisconnect::Keep, 0)}) {
    FakeExec exec;
    FakeCaller caller({Wake::Timeout, Wake::Gone});
    EXPECT_EQ(wait_for_end(exec, caller, wish), Waited::Left);
    EXPECT_EQ(exec.kills, kills);
  }
}

TEST(WaitForEnd, SeesTheEndEvenWhileTheServerStops) {
  FakeExec exec;
  exec.what.state = ExecState::Ended;
  FakeCaller stopped({Wake::Stopping}), usual;
  EXPECT_EQ(wait_for_end(exec, stopped, OnDisconnect::Kill), Waited::Ended);
  EXPECT_EQ(wait_for_end(exec, usual, OnDisconnect::Kill), Waited::Ended);
  EXPECT_EQ(exec.kills, 0);
}

TEST(ResultOf, IsTheFailureWhereCoveFailed) {
  FakeExec exec;
  EXPECT_EQ(result_of(exec).error().code(), Code::Internal);
  exec.what.result = ExecResult{.exec_id = "e"};
  EXPECT_EQ(result_of(exec)->exec_id, "e");
  exec.failed = Error(Code::Unavailable, "gone");
  EXPECT_EQ(result_of(exec).error().code(), Code::Unavailable);
}

TEST(PassOutput, GivesAllToTheSink) {
  FakeFollower follower({{1, Stream::Out, "a"}, {2, Stream::Err, "b"}}, FakeFollower::After::End);
  FakeCaller caller;
  FakeSink sink;
  EXPECT_EQ(pass_output(follower, caller, sink), FollowEnd::Whole);
  EXPECT_THAT(sink.notes, ElementsAre("1 out a", "2 err b"));
}

TEST(PassOutput, EndsWithItsCallerAndWithTheServer) {
  FakeFollower one({{1, Stream::Out, "a"}, {2, Stream::Out, "b"}}, FakeFollower::After::End);
  FakeCaller there;
  FakeSink full(1);
  EXPECT_EQ(pass_output(one, there, full), FollowEnd::Left) << "it takes no more";
  FakeFollower two({}, FakeFollower::After::Nothing), three({}, FakeFollower::After::Nothing);
  FakeCaller gone({Wake::Timeout, Wake::Gone}), stopping({Wake::Ready, Wake::Stopping});
  FakeSink sink;
  EXPECT_EQ(pass_output(two, gone, sink), FollowEnd::Left);
  EXPECT_EQ(pass_output(three, stopping, sink), FollowEnd::Stopping);
}

}  // namespace
}  // namespace cove::engine
