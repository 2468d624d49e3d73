#include "init/descendants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace cove::init {
namespace {

using ::testing::ElementsAre;

TEST(Descendants, IsReadWhateverTheProgramIsCalled) {
  Origin origin;
  ASSERT_TRUE(read_origin("17 (a) S 1 1 1 (b)) R 5 16 12 0 -1", origin));
  EXPECT_EQ(origin.pid, 17);
  EXPECT_EQ(origin.parent, 5);
  EXPECT_EQ(origin.group, 16);
  EXPECT_EQ(origin.session, 12);
}

TEST(Descendants, HasNoneThatEndedOrMakeNoSense) {
  Origin origin;
  for (const char* stat : {"17 (a) Z 5 16 12 0", "17 (a) X 5 16 12", "17 (a) S 5", "17 (a)", "17 a S 5 16 12", "", ")"})
    EXPECT_FALSE(read_origin(stat, origin)) << stat;
}

TEST(Descendants, AreChildrenAndSessionsAndTheirs) {
  const std::vector<Origin> all = {
      {9, 8, 9, 9},                                     // in a session of its own, by one that is told of later
      {8, 7, 5, 5},    {7, 5, 5, 5},     {5, 1, 5, 5},  // the program, and what it started
      {6, 1, 5, 5},                                     // an orphan of its session
      {10, 1, 9, 9},                                    // an orphan of that other session
      {20, 1, 20, 20}, {21, 20, 20, 20},                // another program
      {30, 1, 30, 30},                                  // an orphan, by itself
  };
  std::set<pid_t> related = {5};
  add_related(all, related);
  EXPECT_THAT(related, ElementsAre(5, 6, 7, 8, 9, 10));
}

TEST(Descendants, OfThisProcessAreFound) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    ::pause();
    ::_exit(0);
  }
  std::set<pid_t> related = {::getpid()};
  add_related(list_origins(), related);
  EXPECT_TRUE(related.contains(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace cove::init
