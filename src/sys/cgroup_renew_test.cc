// Groups that are used again: on v1 only.
#include "sys/cgroup_testing.h"

namespace cove::sys {
namespace {

class RenewedCgroupTest : public CgroupTest {
 protected:
  void SetUp() override {
    CgroupTest::SetUp();
    if (!tree_ || IsSkipped()) return;
    if (tree_->version() != 1) GTEST_SKIP() << "the counters of cgroup v2 cannot be set back";
    outer_ = tree_->create(prefix_ + "a", {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer})
                 .value();
    inner_ = outer_->create_child("inner").value();
  }
  // What a process was charged with goes a little later than the process.
  bool renews() {
    return wait_until(500ms, [&]() -> Result<bool> { return outer_->renew(*inner_); }).value();
  }

  std::unique_ptr<Cgroup> outer_, inner_;
};

TEST_F(RenewedCgroupTest, CountsFromTheBeginning) {
  EXPECT_EQ(outcome(run_in(*inner_, [] { return touch_memory(32 * kMiB) + burn_cpu(100ms); })), 0);
  ASSERT_GE(outer_->usage().value().memory_peak_bytes, 32 * kMiB);
  ASSERT_TRUE(renews());
  for (const auto& group : {outer_.get(), inner_.get()}) {
    CgroupUsage usage = group->usage().value();
    EXPECT_EQ(usage.cpu_user_us + usage.cpu_system_us, 0u);
    EXPECT_LE(usage.memory_peak_bytes, kMiB);
    EXPECT_LE(usage.pids_peak, 1u);
  }
  EXPECT_EQ(outcome(run_in(*inner_, [] { return burn_cpu(50ms); })), 0);
  CgroupUsage usage = inner_->usage().value();
  EXPECT_GE(usage.cpu_user_us + usage.cpu_system_us, 50'000u);
  EXPECT_LT(usage.cpu_user_us + usage.cpu_system_us, 100'000u);
}

TEST_F(RenewedCgroupTest, IsNotWhereSomethingWasKilledForMemory) {
  ASSERT_OK(outer_->set_memory(16 * kMiB));
  EXPECT_EQ(outcome(run_in(*inner_, [] { return touch_memory(64 * kMiB); })), kKilled);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereAForkWasRefused) {
  ASSERT_OK(outer_->set_pids(1));
  EXPECT_EQ(outcome(run_in(*inner_, [] { return fork_until_refused(1); })), 0);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereThereWereTwo) {
  EXPECT_EQ(outcome(run_in(*inner_, [] { return fork_until_refused(1); })), 1);
  ASSERT_OK(inner_->kill());
  ASSERT_TRUE(becomes_empty(*inner_));
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereItWasKilled) {
  run_counter_in(*inner_);
  ASSERT_OK(inner_->kill());
  ASSERT_TRUE(becomes_empty(*inner_));
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, IsNotWhereSomethingLives) {
  run_counter_in(*inner_);
  EXPECT_FALSE(renews());
}

TEST_F(RenewedCgroupTest, HasItsNewNameInAllHierarchies) {
  ASSERT_OK(outer_->rename(prefix_ + "b"));
  EXPECT_EQ(outer_->name(), prefix_ + "b");
  EXPECT_FALSE(tree_->adopt(prefix_ + "a"));
  std::unique_ptr<Cgroup> adopted = tree_->adopt(prefix_ + "b").value();
  for (Controller controller : {Controller::Cpu, Controller::Memory, Controller::Pids, Controller::Freezer})
    EXPECT_TRUE(adopted->has(controller)) << controller_name(controller);
  EXPECT_EQ(outcome(run_in(*inner_, [] { return burn_cpu(50ms); })), 0);
  CgroupUsage usage = adopted->usage().value();
  EXPECT_GE(usage.cpu_user_us + usage.cpu_system_us, 50'000u);
}

}  // namespace
}  // namespace cove::sys
