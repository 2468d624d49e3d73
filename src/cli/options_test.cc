#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<OptionInfo> kTable = {
    {"env", 'e', "KEY=VALUE", "set a variable", "Group"},
    {"tty", 't', "", "a terminal", "Group"},
    {"interactive", 'i', "", "standard input", "Group"},
    {"memory", 'm', "SIZE", "memory", "Other group"},
};

// "env=A=1 tty=" for what was given.
std::vector<std::string> given(const std::vector<std::string>& args) {
  auto parsed = parse_options(kTable, args);
  EXPECT_TRUE(parsed) << parsed.error().message();
  std::vector<std::string> out;
  if (parsed)
    for (const GivenOption& option : parsed->given) out.push_back(concat(kTable[option.index].name, "=", option.value));
  return out;
}

std::vector<std::string> rest(const std::vector<std::string>& args) { return parse_options(kTable, args)->rest; }

Error error(const std::vector<std::string>& args) {
  auto parsed = parse_options(kTable, args);
  EXPECT_FALSE(parsed);
  return parsed ? Error(Code::Internal, "none") : parsed.error();
}

TEST(Options, TakeValuesInEveryFormThatDockerHas) {
  EXPECT_THAT(given({"-e", "A=1"}), ElementsAre("env=A=1"));
  EXPECT_THAT(given({"-eA=1"}), ElementsAre("env=A=1"));
  EXPECT_THAT(given({"-e=A=1"}), ElementsAre("env=A=1"));
  EXPECT_THAT(given({"--env", "A=1"}), ElementsAre("env=A=1"));
  EXPECT_THAT(given({"--env=A=1"}), ElementsAre("env=A=1"));
  EXPECT_THAT(given({"--env="}), ElementsAre("env="));
}

TEST(Options, CombineLetters) {
  EXPECT_THAT(given({"-it"}), ElementsAre("interactive=", "tty="));
  EXPECT_THAT(given({"-iteA=1"}), ElementsAre("interactive=", "tty=", "env=A=1"));
  EXPECT_THAT(given({"-ite", "A=1"}), ElementsAre("interactive=", "tty=", "env=A=1"));
}

TEST(Options, KeepTheOrderOfRepeatedOnes) {
  EXPECT_THAT(given({"-e", "A=1", "-m", "1g", "-e", "A=2"}), ElementsAre("env=A=1", "memory=1g", "env=A=2"));
}

TEST(Options, TakeAValueThatLooksLikeAnOption) { EXPECT_THAT(given({"-m", "-1"}), ElementsAre("memory=-1")); }

TEST(Options, EndAtTheFirstOtherWord) {
  EXPECT_THAT(rest({"-i", "ls", "-l", "--env"}), ElementsAre("ls", "-l", "--env"));
  EXPECT_THAT(rest({"-i", "--", "-x", "--", "y"}), ElementsAre("-x", "--", "y"));
  EXPECT_THAT(rest({"-", "-i"}), ElementsAre("-", "-i"));
  EXPECT_THAT(rest({"", "-i"}), ElementsAre("", "-i"));
  EXPECT_THAT(rest({}), IsEmpty());
}

TEST(Options, SuggestTheClosestName) {
  EXPECT_EQ(error({"--memroy", "1g"}).message(), "unknown option --memroy");
  EXPECT_THAT(error({"--memroy=1g"}).hint(), HasSubstr("--memory"));
  EXPECT_EQ(error({"--zzzzzzzzzz"}).hint(), "");
}

TEST(Options, NameTheUnknownLetter) {
  EXPECT_EQ(error({"-x"}).message(), "unknown option -x");
  EXPECT_EQ(error({"-ixt"}).message(), "unknown option -x (in -ixt)");
}

TEST(Options, WantTheirValue) {
  EXPECT_EQ(error({"--memory"}).message(), "option --memory needs a value");
  EXPECT_EQ(error({"-im"}).message(), "option -m needs a value");
  EXPECT_EQ(error({"-m"}).hint(), "write it as -m SIZE");
}

TEST(Options, RefuseAValueWhereTheyHaveNone) {
  EXPECT_EQ(error({"--tty=yes"}).message(), "option --tty takes no value");
}

TEST(Options, ShowHelpUnderTheirHeadings) {
  std::string help = options_help(kTable);
  EXPECT_THAT(help, HasSubstr("\nGroup:\n  -e, --env KEY=VALUE"));
  EXPECT_THAT(help, HasSubstr("\nOther group:\n  -m, --memory SIZE"));
}

}  // namespace
}  // namespace cove::cli
