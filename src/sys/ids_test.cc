#include "sys/ids.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <set>

#include "sys/file.h"

namespace cove::sys {
namespace {

TEST(SubordinateIds, AreFoundByNameAndByNumber) {
  constexpr const char* kTable = "alice:100000:65536\n1001:200000:65536\nbob:300000:1000\n";
  EXPECT_EQ(find_subordinate_ids(kTable, "alice", 1000), 100000u);
  EXPECT_EQ(find_subordinate_ids(kTable, "carol", 1001), 200000u);
  EXPECT_EQ(find_subordinate_ids(kTable, "bob", 1002), 0u);
  EXPECT_EQ(find_subordinate_ids("nonsense\n::\nalice:x:y\n", "alice", 1), 0u);
}

TEST(RootIds, AreTakenByOneSandboxAtATime) {
  char folder[] = "/tmp/cove-ids-XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder));
  std::set<uint32_t> bases;
  std::vector<IdPlan> plans;
  for (int i = 0; i < 300; ++i) {
    Result<IdPlan> plan = plan_root_ids(folder);
    ASSERT_TRUE(plan) << plan.error().message();
    EXPECT_TRUE(bases.insert(plan->users[0].outside).second);
    EXPECT_EQ(plan->builder_id(1000), plan->users[0].outside + 1000);
    plans.push_back(std::move(*plan));
  }
  ASSERT_TRUE(sys::remove_tree(folder));
}

TEST(RootIds, LieAboveTheIdsOfPeopleAndContainers) {
  char folder[] = "/tmp/cove-ids-XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder));
  uint32_t base = plan_root_ids(folder)->users[0].outside;
  EXPECT_GE(base, 0x70000000u);
  EXPECT_LE(base, 0x7fffffffu - kIdsPerSandbox);
  ASSERT_TRUE(sys::remove_tree(folder));
}

TEST(WorkspaceIds, GiveRootInsideAnIdThatNobodyElseHas) {
  auto text = [](const sys::IdMap& map) { return sys::id_map_text(map); };
  WorkspaceIds ids = plan_workspace_ids(1000, 100, 501000, 500000);
  EXPECT_EQ(text(ids.users), text({{1000, 501000, 1}, {2147484648, 500000, 1}}));
  EXPECT_EQ(text(ids.groups), text({{100, 501000, 1}, {2147484648, 500000, 1}}));
  // The sandbox's own user is root; the folder is root's who was inside; the group is that one's.
  EXPECT_EQ(plan_workspace_ids(1000, 100, 500000, 500000).users.size(), 1u);
  EXPECT_EQ(plan_workspace_ids(2147484648, 100, 501000, 500000).users.size(), 1u);
  EXPECT_EQ(plan_workspace_ids(0x7fffffff, 100, 501000, 500000).users.size(), 1u);
  EXPECT_EQ(plan_workspace_ids(1000, 2147484648, 501000, 500000).groups.size(), 1u);
}

}  // namespace
}  // namespace cove::sys
