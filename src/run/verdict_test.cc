#include "run/verdict.h"

#include <gmock/gmock.h>

namespace cove {
namespace {

using ::testing::HasSubstr;

ExecResult result_that_said(const std::string& text, const std::string& disk_enforced_by) {
  ExecResult result;
  result.err.data = text;
  result.limits["disk"] = {"32 MiB", disk_enforced_by};
  return result;
}

Limits limits_of_32_mib() {
  Limits limits;
  limits.disk = 32 * kMiB;
  return limits;
}

TEST(ReportedLimits, AFullDiskIsADenialWhereTheLimitIsEnforced) {
  ExecResult result = result_that_said("dd: error writing 'x': No space left on device\n", "quota");
  note_reported_limits(result, limits_of_32_mib());
  ASSERT_EQ(result.denials.size(), 1u);
  EXPECT_THAT(result.denials[0].what, HasSubstr("disk is full"));
}

TEST(ReportedLimits, ADiskLimitThatNothingEnforcesIsNotBlamed) {
  ExecResult result = result_that_said("dd: error writing 'x': No space left on device\n", "nothing");
  note_reported_limits(result, limits_of_32_mib());
  EXPECT_TRUE(result.denials.empty());
}

TEST(ReportedLimits, AreNotedOnce) {
  ExecResult result = result_that_said("Too many open files\nToo many open files\n", "quota");
  note_reported_limits(result, limits_of_32_mib());
  note_reported_limits(result, limits_of_32_mib());
  EXPECT_EQ(result.denials.size(), 1u);
}

}  // namespace
}  // namespace cove
