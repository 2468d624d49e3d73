#include "run/host_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"

namespace cove {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(VersionIn, FindsWhatProgramsSay) {
  EXPECT_EQ(version_in("Python 3.11.2"), "3.11.2");
  EXPECT_EQ(version_in("v20.20.2"), "20.20.2");
  EXPECT_EQ(version_in("gcc (Debian 12.2.0-14+deb12u1) 12.2.0"), "12.2.0");
  EXPECT_EQ(version_in("go version go1.19.8 linux/amd64"), "1.19.8");
  EXPECT_EQ(version_in("GNU bash, version 5.2.15(1)-release"), "5.2.15");
  EXPECT_EQ(version_in("openjdk 17 2021-09-14"), "17");
  EXPECT_EQ(version_in("Version 5. And so on"), "5");
  EXPECT_EQ(version_in("no number"), "");
}

// A language whose program every machine has.
Language shell() {
  Language language;
  language.name = "shell";
  language.commands = {{{}, {"no-such-program", "{file}"}, {}}, {{}, {"sh", "{file}"}, {}}};
  return language;
}

TEST(HostOffers, AreProgramsOfThisMachineWithTheVersionThatTheyTell) {
  std::vector<std::string> scripts;
  HostOffers offers(
      [&](const std::string& script) -> Result<std::string> {
        scripts.push_back(script);
        return "0 0 a shell, version 7.1\n";
      },
      "");
  std::vector<LanguageOffer> found = offers.of(shell());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].version, "7.1");
  EXPECT_EQ(found[0].image, "host");
  EXPECT_THAT(found[0].path, HasSubstr("bin/sh"));
  EXPECT_EQ(offers.of(shell())[0].version, "7.1");
  ASSERT_EQ(scripts.size(), 1u) << "asked again for what is known";
  EXPECT_THAT(scripts[0], Not(HasSubstr("no-such-program")));
}

TEST(HostOffers, LeaveOutWhatCannotBeExecutedInside) {
  HostOffers offers([](const std::string&) -> Result<std::string> { return "0 126 \n"; }, "");
  EXPECT_TRUE(offers.of(shell()).empty());
}

TEST(HostOffers, LeaveOutWhatIsTooOld) {
  Language language = shell();
  language.commands[1].least = "8";
  HostOffers offers([](const std::string&) -> Result<std::string> { return "0 0 7.1\n"; }, "");
  EXPECT_TRUE(offers.of(language).empty());
}

TEST(HostOffers, AreThereWithoutAVersionWhereNobodyCanBeAsked) {
  int asked = 0;
  HostOffers offers(
      [&](const std::string&) -> Result<std::string> {
        ++asked;
        return fail(Code::Unavailable, "no sandbox");
      },
      "");
  ASSERT_EQ(offers.of(shell()).size(), 1u);
  EXPECT_EQ(offers.of(shell())[0].version, "");
  EXPECT_EQ(asked, 2) << "what could not be asked is asked again";
}

TEST(HostOffers, AreRememberedInAFile) {
  std::string file = concat(::testing::TempDir(), "/cove-offers-", ::getpid());
  HostOffers([](const std::string&) -> Result<std::string> { return "0 0 7.1\n"; }, file).of(shell());
  HostOffers again([](const std::string&) -> Result<std::string> { return fail(Code::Internal, "asked again"); }, file);
  EXPECT_EQ(again.of(shell())[0].version, "7.1");
  ::unlink(file.c_str());
}

}  // namespace
}  // namespace cove
