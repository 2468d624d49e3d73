#include "runtime/docker/container_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::docker {
namespace {

using testing::HasSubstr;

ContainerPlan plan() {
  ContainerPlan plan;
  plan.spec.id = "abcdefghijklmnopqrst";
  plan.spec.image = "debian:12";
  plan.spec.lifetime = Lifetime::Long;
  plan.state = "/var/lib/cove";
  plan.programs = "/usr/lib/cove";
  plan.handoff = "/run/cove/sandboxes/abcdefghijklmnopqrst.door";
  plan.engine.limits_cpus = plan.engine.limits_memory = plan.engine.limits_processes = true;
  return plan;
}

TEST(ContainerOrder, CarriesTheMarksOfWhatIsOurs) {
  Json order = container_order(plan());
  EXPECT_EQ(order["Labels"]["cove.sandbox"], "abcdefghijklmnopqrst");
  EXPECT_EQ(order["Labels"]["cove.state"], "/var/lib/cove");
  EXPECT_EQ(container_name("abcdefghijklmnopqrst"), "cove-abcdefghijklmnopqrst");
}

TEST(ContainerOrder, PutsUpTheWalls) {
  Json host = container_order(plan())["HostConfig"];
  EXPECT_EQ(host["NetworkMode"], "none");
  EXPECT_EQ(host["CapDrop"], Json::array({"ALL"}));
  EXPECT_EQ(host["CapAdd"].size(), 11u);
  EXPECT_EQ(host["SecurityOpt"], Json::array({"no-new-privileges"}));
  EXPECT_EQ(host["Privileged"], false);
  EXPECT_FALSE(host.contains("PidMode"));
}

TEST(ContainerOrder, MountsNothingButWhatProcessOneNeeds) {
  const Json order = container_order(plan());
  for (const Json& mount : order["HostConfig"]["Mounts"]) {
    EXPECT_EQ(mount["ReadOnly"], true);
    EXPECT_EQ(mount["Source"].get<std::string>().find("docker.sock"), std::string::npos);
  }
}

TEST(ContainerOrder, ShowsTheWorkspace) {
  ContainerPlan with = plan();
  with.spec.workspace = {.path = "/home/me/project", .access = Access::ReadWrite};
  Json mount = container_order(with)["HostConfig"]["Mounts"].back();
  EXPECT_EQ(mount["Target"], "/workspace");
  EXPECT_EQ(mount["ReadOnly"], false);
  EXPECT_THAT(container_order(with)["Entrypoint"][2].get<std::string>(), HasSubstr("w"));
  with.spec.workspace.access = Access::ReadOnly;
  EXPECT_EQ(container_order(with)["HostConfig"]["Mounts"].back()["ReadOnly"], true);
}

TEST(ContainerOrder, AsksTheEngineForLimitsOnlyWhereNobodyElseHoldsThem) {
  ContainerPlan held = plan();
  held.spec.limits.memory.name(kGiB);
  held.holder = Holder::Engine;
  EXPECT_EQ(container_order(held)["HostConfig"]["Memory"], kGiB);
  EXPECT_EQ(container_order(held)["HostConfig"]["MemorySwap"], kGiB);
  held.spec.limits.swap.name(kMiB);
  EXPECT_EQ(container_order(held)["HostConfig"]["MemorySwap"], kGiB + kMiB);
  held.spec.limits.swap = 0;
  EXPECT_EQ(container_order(held)["HostConfig"]["PidsLimit"], 1024);
  held.holder = Holder::OwnGroup;
  EXPECT_FALSE(container_order(held)["HostConfig"].contains("Memory"));
  EXPECT_EQ(container_order(held)["HostConfig"]["PidsLimit"], -1);
}

TEST(ContainerOrder, AsksForNoLimitThatTheEngineDoesNotHave) {
  ContainerPlan held = plan();
  held.holder = Holder::Engine;
  held.engine.limits_memory = false;
  EXPECT_FALSE(container_order(held)["HostConfig"].contains("Memory"));
}

TEST(ContainerOrder, OneRunGoesByItself) {
  ContainerPlan once = plan();
  once.spec.lifetime = Lifetime::OneRun;
  EXPECT_EQ(container_order(once)["HostConfig"]["AutoRemove"], true);
  EXPECT_EQ(container_order(plan())["HostConfig"]["AutoRemove"], false);
}

TEST(ContainerOrder, ChangesOnlyTheLimitsThatAreNamed) {
  Limits limits;
  limits.memory.name(kGiB);
  Json order = limits_order(limits);
  EXPECT_EQ(order["Memory"], kGiB);
  EXPECT_FALSE(order.contains("PidsLimit"));
}

TEST(EngineDisk, IsRefusedWhereItWasNamedAndCannotBeHeld) {
  native::Holding holding;
  SandboxSpec spec;
  spec.limits.disk.name(kGiB);
  Result<void> held = hold_disk(holding, spec, false);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code(), Code::Unsupported);
  EXPECT_THAT(held.error().hint(), HasSubstr("btrfs"));
  EXPECT_TRUE(hold_disk(holding, spec, true));
  EXPECT_EQ(holding.limits["disk"].enforced_by, "quota");
}

TEST(EngineDisk, IsWarnedOfWhereItIsADefault) {
  native::Holding holding;
  ASSERT_TRUE(hold_disk(holding, SandboxSpec(), false));
  EXPECT_FALSE(holding.limits.contains("disk"));
  EXPECT_THAT(holding.warnings.at(0), HasSubstr("disk is not limited"));
}

TEST(EngineWarnings, TellOfRootThatIsRoot) {
  EngineFacts facts{.version = "24.0.7"};
  EXPECT_THAT(engine_warnings(facts, false, Strictness::FallBack)->at(0), HasSubstr("userns-remap"));
  EXPECT_TRUE(engine_warnings(facts, true, Strictness::FallBack)->empty());
  EXPECT_EQ(engine_warnings(facts, false, Strictness::Strict).error().code(), Code::Unsupported);
}

TEST(EngineSpec, RefusesWhatEnginesCannot) {
  SandboxSpec spec;
  EXPECT_EQ(check_spec(spec).error().code(), Code::Invalid);  // the image `host`
  spec.image = "debian:12";
  EXPECT_TRUE(check_spec(spec));
  spec.nesting = true;
  EXPECT_EQ(check_spec(spec).error().code(), Code::Unsupported);
  spec.nesting = false;
  spec.workspace.access = Access::Review;
  EXPECT_EQ(check_spec(spec).error().code(), Code::Unsupported);
}

}  // namespace
}  // namespace cove::docker
