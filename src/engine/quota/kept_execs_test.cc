#include "engine/quota/kept_execs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace cove::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class KeptExecsTest : public testing::Test {
 protected:
  void add(const std::string& id, int64_t removed_ms, uint64_t bytes, const std::string& project = "p") {
    kept_.add({id, project, removed_ms, bytes});
  }
  uint64_t counted(const std::string& project = "p") { return *counters_[project]; }

  std::map<std::string, std::shared_ptr<LogBudget::Counter>> counters_;
  std::vector<std::string> dropped_;
  KeptExecs kept_{100,
                  [this](const std::string& project) {
                    auto& counter = counters_[project];
                    if (!counter) counter = std::make_shared<LogBudget::Counter>(0);
                    return counter;
                  },
                  [this](const std::string& sandbox) { dropped_.push_back(sandbox); }};
};

TEST_F(KeptExecsTest, CountToTheirProjectUntilTheirTimeIsOver) {
  add("a", 10, 30);
  add("b", 20, 40);
  add("c", 20, 5, "q");
  EXPECT_EQ(counted(), 70u);
  EXPECT_EQ(counted("q"), 5u);
  kept_.drop_before(20);
  EXPECT_THAT(dropped_, ElementsAre("a"));
  EXPECT_EQ(counted(), 40u);
  kept_.drop_before(21);
  EXPECT_THAT(dropped_, ElementsAre("a", "b", "c"));
  EXPECT_EQ(counted(), 0u);
}

TEST_F(KeptExecsTest, TheOldestGoWhereTheyAreTooMany) {
  add("a", 1, 60);
  add("b", 2, 30);
  EXPECT_THAT(dropped_, IsEmpty());
  add("c", 3, 30);
  EXPECT_THAT(dropped_, ElementsAre("a"));
  add("d", 4, 500);
  EXPECT_THAT(dropped_, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(counted(), 0u);
}

TEST_F(KeptExecsTest, GiveWayToSandboxesThatLive) {
  add("a", 1, 20);
  add("b", 2, 20);
  add("c", 3, 20);
  add("x", 4, 20, "q");
  kept_.give_way("p", 61);
  EXPECT_THAT(dropped_, IsEmpty()) << "it would not help";
  kept_.give_way("p", 21);
  EXPECT_THAT(dropped_, ElementsAre("a", "b"));
  EXPECT_EQ(counted(), 20u);
  kept_.give_way("", 40);
  EXPECT_THAT(dropped_, ElementsAre("a", "b", "c", "x"));
}

}  // namespace
}  // namespace cove::engine
