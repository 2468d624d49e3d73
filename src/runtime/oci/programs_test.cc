#include "runtime/oci/programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cove::oci {
namespace {

using testing::HasSubstr;

constexpr Rights kRoot = {.root = true, .limits = true, .ids = true};
constexpr Rights kRootless = {.root = false, .limits = false, .ids = true};

Result<void> check(const char* runtime, const Rights& rights) {
  return check_rights(*find_runtime_kind(runtime), rights);
}

TEST(OciPrograms, CanAllBeUsedByRoot) {
  for (const char* runtime : {"runc", "crun", "runsc"}) EXPECT_TRUE(check(runtime, kRoot)) << runtime;
}

TEST(OciPrograms, SayWhatTheyNeed) {
  EXPECT_TRUE(check("runc", kRootless));
  EXPECT_TRUE(check("runc", {.root = true}));
  EXPECT_THAT(check("runc", {}).error().message(), HasSubstr("more user ids"));
  EXPECT_THAT(check("runc", {}).error().hint(), HasSubstr("uidmap"));
  EXPECT_THAT(check("crun", kRootless).error().message(), HasSubstr("only by root"));
  EXPECT_THAT(check("runsc", kRootless).error().message(), HasSubstr("requires root"));
  EXPECT_THAT(check("runsc", {.root = true, .limits = false, .ids = true}).error().message(),
              HasSubstr("control groups"));
}

TEST(OciPrograms, ThatAreNotThereAreNamed) {
  RuntimeFact fact = examine({"runc", RuntimeFamily::Oci, "no-such-program", "nothing"}, kRoot);
  EXPECT_FALSE(fact.available);
  EXPECT_EQ(fact.problem, "the runtime runc is not installed: no program no-such-program on the PATH");
  EXPECT_THAT(fact.remedy, HasSubstr("apt install runc"));
}

TEST(OciPrograms, WithoutAVersionAreNotTrusted) {
  char folder[] = "/tmp/cove-test-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::string program = std::string(folder) + "/cove-silent";
  std::ofstream(program) << "#!/bin/sh\n";
  ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
  std::string path = ::getenv("PATH");
  ::setenv("PATH", folder, 1);
  RuntimeFact fact = examine({"runc", RuntimeFamily::Oci, "cove-silent", "nothing"}, kRoot);
  ::setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(fact.available);
  EXPECT_EQ(fact.problem, program + " --version prints nothing");
}

// What is installed, and in which version, is told also to those who cannot use it.
TEST(OciPrograms, TellTheirVersionToEverybody) {
  RuntimeFact fact = examine({"crun", RuntimeFamily::Oci, "bash", "nothing"}, kRootless);
  EXPECT_FALSE(fact.available);
  EXPECT_THAT(fact.version, HasSubstr("."));
  EXPECT_THAT(fact.program, HasSubstr("/bash"));
  EXPECT_THAT(fact.problem, HasSubstr("only by root"));
}

}  // namespace
}  // namespace cove::oci
