#include "net/gateway/loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>

#include "sys/socket.h"

namespace cove::net {
namespace {

using namespace std::chrono_literals;

class LoopTest : public ::testing::Test {
 protected:
  std::unique_ptr<Loop> loop_ = Loop::create().value();
};

TEST_F(LoopTest, CallsTimersInTheirOrderAndNotTheCancelledOnes) {
  std::string called;
  loop_->after(20ms, [&] { called += "b", loop_->stop(); });
  uint64_t cancelled = loop_->after(10ms, [&] { called += "x"; });
  loop_->after(1ms, [&] { called += "a"; });
  loop_->cancel(cancelled);
  loop_->run();
  EXPECT_EQ(called, "ab");
}

TEST_F(LoopTest, AHandlerMayRemoveItselfAndOthersOfTheSameTurn) {
  auto one = sys::socketpair(SOCK_STREAM).value(), other = sys::socketpair(SOCK_STREAM).value();
  int calls = 0;
  auto remove_both = [&](uint32_t) {
    ++calls;
    loop_->remove(one.first.get());
    loop_->remove(other.first.get());
    loop_->later([&] { loop_->stop(); });
  };
  ASSERT_TRUE(loop_->add(one.first.get(), EPOLLOUT, remove_both));
  ASSERT_TRUE(loop_->add(other.first.get(), EPOLLOUT, remove_both));
  loop_->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, ADescriptorWhoseNumberIsUsedAgainGetsNoEventOfItsPredecessor) {
  auto one = sys::socketpair(SOCK_STREAM).value(), other = sys::socketpair(SOCK_STREAM).value();
  int wrong = 0, calls = 0;
  UniqueFd* pair[] = {&one.first, &other.first};
  auto replace = [&](UniqueFd& victim) {
    int number = victim.get();
    loop_->remove(number);
    victim.reset();
    auto fresh = sys::socketpair(SOCK_STREAM).value();
    ASSERT_EQ(fresh.first.get(), number);
    victim = std::move(fresh.first);
    ASSERT_TRUE(loop_->add(number, EPOLLIN, [&](uint32_t) { ++wrong; }));
    other.second = std::move(fresh.second);  // open: the new one is not readable
  };
  for (int i : {0, 1})
    ASSERT_TRUE(loop_->add(pair[i]->get(), EPOLLOUT, [&, i](uint32_t) {
      if (++calls == 1) replace(*pair[1 - i]);
      loop_->remove(pair[i]->get());
      loop_->after(5ms, [&] { loop_->stop(); });
    }));
  loop_->run();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(wrong, 0);
}

TEST_F(LoopTest, LaterCallsFollowTheHandlersOfTheTurn) {
  std::string called;
  loop_->later([&] {
    called += "a";
    loop_->later([&] { called += "b", loop_->stop(); });
  });
  loop_->run();
  EXPECT_EQ(called, "ab");
}

}  // namespace
}  // namespace cove::net
