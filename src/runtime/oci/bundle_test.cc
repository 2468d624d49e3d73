#include "runtime/oci/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cove::oci {
namespace {

using nlohmann::json;
using testing::Contains;

native::SpawnPlan plan_for(const std::string& runtime) {
  native::SpawnPlan plan;
  plan.id = "abcdefghij0123456789";
  plan.hostname = "box";
  plan.ids.users = plan.ids.groups = {{0, 700000, 65536}};
  plan.lifetime = Lifetime::Long;
  plan.oci.emplace();
  plan.oci->runtime = runtime;
  plan.oci->group = "cove-oci-x";
  return plan;
}

TEST(Bundle, HasEveryNamespaceAndNoneOfAnotherProcess) {
  json config = json::parse(bundle_config(plan_for("runc"), ""));
  std::vector<std::string> types;
  for (const json& entry : config["linux"]["namespaces"]) {
    types.push_back(entry["type"]);
    EXPECT_FALSE(entry.contains("path")) << entry;
  }
  EXPECT_THAT(types, testing::UnorderedElementsAre("pid", "network", "ipc", "uts", "mount", "user", "cgroup"));
  EXPECT_EQ(config["linux"]["uidMappings"], json::parse(R"([{"containerID":0,"hostID":700000,"size":65536}])"));
}

TEST(Bundle, StartsProcess1WithMorePowerThanItsPrograms) {
  json process = json::parse(bundle_config(plan_for("runc"), ""))["process"];
  EXPECT_EQ(process["args"][0], "/proc/self/fd/7");
  EXPECT_TRUE(process["noNewPrivileges"]);
  EXPECT_THAT(process["capabilities"]["permitted"], Contains("CAP_SYS_NICE"));
  EXPECT_FALSE(process["capabilities"].contains("ambient"));
}

TEST(Bundle, MountsNothingOfTheHost) {
  const json config = json::parse(bundle_config(plan_for("runc"), ""));
  for (const json& mount : config["mounts"]) {
    std::string source = mount["source"];
    EXPECT_TRUE(source == "proc" || source.starts_with("/tmp/root/")) << mount;
  }
}

TEST(Bundle, AllowsTheDevicesThatThereAre) {
  json rules = json::parse(bundle_config(plan_for("runc"), ""))["linux"]["resources"]["devices"];
  EXPECT_EQ(rules[0], json::parse(R"({"allow":false,"access":"rwm"})"));
  for (size_t i = 1; i < rules.size(); ++i) EXPECT_EQ(rules[i]["access"], "rw") << rules[i];
}

TEST(Bundle, TellsTheOtherKernelItsLimits) {
  native::SpawnPlan plan = plan_for("runsc");
  plan.oci->own_kernel = true;
  plan.oci->processes = 20;
  plan.oci->memory = 1 << 26;
  json process = json::parse(kernel_config(plan))["process"];
  EXPECT_EQ(process["args"][3], "20");
  EXPECT_EQ(process["args"][4], "67108864");
}

}  // namespace
}  // namespace cove::oci
