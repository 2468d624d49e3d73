#include "runtime/native/enforcement.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace cove::native {
namespace {

Means all_means() {
  Means means;
  means.cpu = means.memory = means.swap = means.processes = means.io = true;
  return means;
}

Means no_groups() {
  Means means;
  means.nested_ids = true;
  means.why_not = "there are none";
  means.hint = "get some";
  return means;
}

TEST(PlanEnforcement, UsesControlGroupsWhereThereAre) {
  Result<Holding> holding = plan_enforcement(Limits(), all_means(), Strictness::Strict);
  ASSERT_TRUE(holding);
  for (const char* name : {"cpus", "memory", "processes"}) EXPECT_EQ(holding->limits[name].enforced_by, "cgroup");
  EXPECT_TRUE(holding->warnings.empty());
  EXPECT_EQ(holding->watched_memory, 0u);
}

TEST(PlanEnforcement, HoldsSwapBesideTheMemory) {
  Limits limits;
  EXPECT_FALSE(plan_enforcement(limits, all_means(), Strictness::Strict)->limits.contains("swap"));
  limits.swap.name(64 * kMiB);
  Result<Holding> holding = plan_enforcement(limits, all_means(), Strictness::FallBack);
  ASSERT_TRUE(holding);
  EXPECT_EQ(holding->limits["swap"].value, "64 MiB");
  EXPECT_EQ(holding->limits["swap"].enforced_by, "cgroup");
}

TEST(PlanEnforcement, RefusesSwapThatNothingHolds) {
  Limits limits;
  limits.swap.name(64 * kMiB);
  EXPECT_FALSE(plan_enforcement(limits, no_groups(), Strictness::FallBack));
  Means uncounted = all_means();
  uncounted.swap = false;
  EXPECT_FALSE(plan_enforcement(limits, uncounted, Strictness::FallBack));
  limits.swap.named = false;
  EXPECT_TRUE(plan_enforcement(limits, uncounted, Strictness::FallBack));
  EXPECT_FALSE(plan_enforcement(limits, uncounted, Strictness::Strict));
  limits.memory = 0;
  EXPECT_FALSE(plan_enforcement(limits, all_means(), Strictness::FallBack));
}

TEST(PlanEnforcement, DefaultsFallBackWithOneWarning) {
  Result<Holding> holding = plan_enforcement(Limits(), no_groups(), Strictness::FallBack);
  ASSERT_TRUE(holding);
  EXPECT_EQ(holding->limits["memory"].enforced_by, "watcher");
  EXPECT_EQ(holding->limits["cpus"].enforced_by, "affinity");
  EXPECT_EQ(holding->limits["processes"].enforced_by, "rlimit");
  EXPECT_EQ(holding->warnings.size(), 1u);
  EXPECT_EQ(holding->watched_memory, 2 * kGiB);
  EXPECT_EQ(holding->process_rlimit, 1024u);
}

TEST(PlanEnforcement, ClaimsNothingOfAWatcherThatNestingGetsAround) {
  Means means = no_groups();
  means.nesting = true;
  Result<Holding> holding = plan_enforcement(Limits(), means, Strictness::FallBack);
  ASSERT_TRUE(holding);
  EXPECT_EQ(holding->limits["memory"].enforced_by, "nothing");
  EXPECT_EQ(holding->watched_memory, 2 * kGiB);
}

TEST(PlanEnforcement, RefusesNamedLimitsItCannotHold) {
  Limits memory;
  memory.memory.name(kGiB);
  Limits cpus;
  cpus.cpus.name(0.5);
  Limits io;
  io.io_read.name(kMiB);
  for (const Limits& limits : {memory, cpus, io}) {
    Result<Holding> holding = plan_enforcement(limits, no_groups(), Strictness::FallBack);
    ASSERT_FALSE(holding);
    EXPECT_EQ(holding.error().code(), Code::Unsupported);
    EXPECT_EQ(holding.error().hint(), "get some");
  }
  // Exact without control groups, too.
  Limits processes;
  processes.processes.name(10);
  EXPECT_TRUE(plan_enforcement(processes, no_groups(), Strictness::FallBack));
}

TEST(PlanEnforcement, StrictRefusesToFallBack) {
  EXPECT_FALSE(plan_enforcement(Limits(), no_groups(), Strictness::Strict));
}

TEST(PlanEnforcement, SetsRlimits) {
  Limits limits;
  limits.file_size.name(kMiB);
  Result<Holding> holding = plan_enforcement(limits, all_means(), Strictness::FallBack);
  ASSERT_TRUE(holding);
  auto find = [&](uint64_t resource) {
    for (const wire::Rlimit& rlimit : holding->rlimits)
      if (rlimit.resource == resource) return rlimit;
    return wire::Rlimit{};
  };
  EXPECT_EQ(find(RLIMIT_NOFILE).soft, 1024u);
  EXPECT_EQ(find(RLIMIT_NOFILE).hard, 65536u);
  EXPECT_EQ(find(RLIMIT_FSIZE).hard, kMiB);
  Limits changed;
  changed.open_files.name(64);
  changed.file_size.name(2 * kMiB);
  change_rlimits(*holding, changed);
  EXPECT_EQ(holding->rlimits.size(), 3u);
  EXPECT_EQ(find(RLIMIT_NOFILE).hard, 64u);
  EXPECT_EQ(find(RLIMIT_FSIZE).soft, 2 * kMiB);
  EXPECT_EQ(holding->limits["open_files"].value, "64");
  changed.file_size.name(0);
  change_rlimits(*holding, changed);
  EXPECT_EQ(holding->rlimits.size(), 2u);
  EXPECT_FALSE(holding->limits.contains("file_size"));
}

}  // namespace
}  // namespace cove::native
