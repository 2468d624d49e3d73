#include "sys/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::sys {
namespace {

using ::testing::HasSubstr;

Question shell(const std::string& command) { return {.argv = {"/bin/sh", "-c", command}, .env = {"WORD=good day"}}; }

void expect_refusal(const Question& question, const std::string& words) {
  auto answer = output_of(question);
  ASSERT_FALSE(answer) << *answer;
  EXPECT_EQ(answer.error().code(), Code::Unavailable);
  EXPECT_THAT(answer.error().message(), HasSubstr(words));
}

TEST(OutputOf, IsWhatTheProgramPrints) {
  EXPECT_EQ(*output_of(shell("printf '%s' \"$WORD\"; echo lost >&2")), "good day");
  EXPECT_EQ(*output_of(shell("printf 'a\\0b'")), std::string("a\0b", 3));
}

TEST(OutputOf, HasNothingToReadAndNoVariablesButItsOwn) {
  EXPECT_EQ(*output_of(shell("cat; printf '%s' \"$HOME\"")), "");
}

TEST(OutputOf, FailsWhereTheProgramDoes) {
  expect_refusal(shell("echo half; exit 3"), "/bin/sh exited with 3");
  expect_refusal(shell("echo half; kill -9 $$"), "/bin/sh was killed by signal 9");
  expect_refusal({.argv = {"/nowhere/to/be/found"}, .env = {}}, "start /nowhere/to/be/found");
}

TEST(OutputOf, IsNotLongerThanAskedFor) {
  Question question = shell("printf 12345678");
  question.most = 8;
  EXPECT_EQ(*output_of(question), "12345678");
  question.most = 7;
  expect_refusal(question, "more than 7 bytes");
}

TEST(OutputOf, WaitsForNobodyForEver) {
  Question question = shell("exec sleep 1000");
  question.patience = std::chrono::milliseconds(50);
  expect_refusal(question, "timed out");
  question.argv[2] = "exec sleep 1000 >&-";
  expect_refusal(question, "was killed by signal 9");
}

}  // namespace
}  // namespace cove::sys
