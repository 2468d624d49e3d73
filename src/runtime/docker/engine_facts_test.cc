#include "runtime/docker/engine_facts.h"

#include <gtest/gtest.h>

#include "model/sandbox.h"

namespace cove::docker {
namespace {

const Json kDockerVersion = {{"Version", "24.0.7"}, {"Components", {{{"Name", "Engine"}, {"Version", "24.0.7"}}}}};
const Json kPodmanVersion = {{"Version", "4.3.1"}, {"Components", {{{"Name", "Podman Engine"}, {"Version", "4.3.1"}}}}};

Json info(const Json& more = Json::object()) {
  Json all = {{"CgroupVersion", "2"}, {"MemoryLimit", true}, {"PidsLimit", true}, {"CpuCfsQuota", true}};
  all.update(more);
  return all;
}

EngineFacts facts(const Json& version, const Json& more = Json::object()) {
  return read_engine_facts(version, info(more)).value();
}

TEST(EngineFacts, TellDockerFromPodman) {
  EXPECT_EQ(facts(kDockerVersion).kind, EngineKind::Docker);
  EXPECT_EQ(facts(kPodmanVersion).kind, EngineKind::Podman);
  EXPECT_EQ(facts(kPodmanVersion).version, "4.3.1");
}

TEST(EngineFacts, NeedAVersion) { EXPECT_FALSE(read_engine_facts(Json::object(), info())); }

TEST(EngineFacts, KnowWhetherRootInsideIsRootOutside) {
  EXPECT_FALSE(facts(kDockerVersion).maps_users);
  EXPECT_TRUE(facts(kDockerVersion, {{"SecurityOptions", {"name=seccomp,profile=default", "name=userns"}}}).maps_users);
  EXPECT_TRUE(facts(kDockerVersion, {{"SecurityOptions", {"name=rootless"}}}).maps_users);
}

TEST(EngineFacts, HaveNoLimitsForOrdinaryUsersOnVersionOneOfControlGroups) {
  Json rootless = {{"SecurityOptions", {"name=rootless"}}};
  EXPECT_TRUE(facts(kPodmanVersion, rootless).limits_memory);
  rootless["CgroupVersion"] = "1";
  EXPECT_FALSE(facts(kPodmanVersion, rootless).limits_memory);
  EXPECT_TRUE(facts(kPodmanVersion, {{"CgroupVersion", "1"}}).limits_memory);
}

TEST(EngineFacts, WarnOfOldEngines) {
  EXPECT_EQ(age_warning(facts(kDockerVersion)), "");
  EXPECT_EQ(age_warning(facts(kPodmanVersion)), "");
  EXPECT_NE(age_warning(facts({{"Version", "20.10.24+dfsg1"}})).find("Docker 20.10.24+dfsg1"), std::string::npos);
  EXPECT_EQ(age_warning(facts({{"Version", "dev"}})), "");
}

TEST(EngineFacts, HoldPodmanToBeingPodman) {
  EXPECT_TRUE(check_kind(facts(kPodmanVersion), "docker", "/s"));
  EXPECT_TRUE(check_kind(facts(kPodmanVersion), "podman", "/s"));
  Result<void> other = check_kind(facts(kDockerVersion), "podman", "/s");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(), "the engine at /s is Docker, not Podman");
}

TEST(EngineFacts, ReadWhatAnImageSays) {
  ImageConfig config = read_image_config({{"Config",
                                           {{"Env", {"PATH=/bin", "EMPTY=", "broken"}},
                                            {"Entrypoint", {"/entry"}},
                                            {"Cmd", nullptr},
                                            {"WorkingDir", "/app"},
                                            {"User", "1000:1000"}}}});
  EXPECT_EQ(config.env, (Environment{{"PATH", "/bin"}, {"EMPTY", ""}}));
  EXPECT_EQ(config.entrypoint, std::vector<std::string>{"/entry"});
  EXPECT_TRUE(config.cmd.empty());
  EXPECT_EQ(config.cwd, "/app");
  EXPECT_EQ(config.user, "1000:1000");
}

}  // namespace
}  // namespace cove::docker
