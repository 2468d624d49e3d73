#include "base/text.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace cove {
namespace {

TEST(ParseBytes, TakesTheUnitsPeopleWrite) {
  EXPECT_EQ(*parse_bytes("512"), 512u);
  EXPECT_EQ(*parse_bytes("64k"), 64u << 10);
  EXPECT_EQ(*parse_bytes("1.5g"), 3u << 29);
  EXPECT_EQ(*parse_bytes("2GiB"), 2ull << 30);
  EXPECT_EQ(*parse_bytes("2gb"), 2ull << 30);
  EXPECT_EQ(*parse_bytes("7b"), 7u);
}

TEST(ParseBytes, RefusesTheRest) {
  for (const char* text :
       {"", "0", "-5", "1.5x", "g", "1e3", "nan", "inf", "1 g", "0.1", "99999999999999999999p", "1bb"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(ParseDuration, TakesTheUnitsPeopleWrite) {
  EXPECT_EQ(parse_duration("30")->count(), 30'000);
  EXPECT_EQ(parse_duration("250ms")->count(), 250);
  EXPECT_EQ(parse_duration("1.5s")->count(), 1500);
  EXPECT_EQ(parse_duration("5m")->count(), 300'000);
  EXPECT_EQ(parse_duration("2h")->count(), 7'200'000);
}

TEST(ParseDuration, RefusesTheRest) {
  for (const char* text : {"", "0", "-1s", "soon", "1w", "0.1ms", "400d"}) EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(ParseInteger, HoldsItsBounds) {
  EXPECT_EQ(*parse_integer("7", 1, 9), 7);
  for (const char* text : {"0", "10", "-1", "7x", "", " 7", "99999999999999999999"})
    EXPECT_FALSE(parse_integer(text, 1, 9)) << text;
}

TEST(Closest, FindsTheLikelyMeaningOnly) {
  EXPECT_EQ(closest("pyton", {"python", "bash"}), "python");
  EXPECT_EQ(closest("--memroy", {"--memory", "--name"}), "--memory");
  EXPECT_EQ(closest("cobol", {"python", "bash"}), "");
  EXPECT_EQ(closest("ls", {"rm", "tag"}), "");
  EXPECT_EQ(closest("", {"c", "r"}), "");
  EXPECT_EQ(closest("rmi", {"rm", "ls"}), "rm");
  EXPECT_EQ(closest("nmae", {"image", "name"}), "name");
  EXPECT_EQ(closest("exce", {"execute", "exec"}), "exec");
  EXPECT_EQ(closest("frob", {"from", "prob"}), "from");
  EXPECT_EQ(closest("tume", {"timeout", "user"}), "");
}

TEST(Error, TellsTheWholeStory) {
  Error error = Error::from_errno(13, "write memory.max").note("limit memory of sandbox k3");
  EXPECT_EQ(error.message(), "limit memory of sandbox k3: write memory.max: Permission denied");
  EXPECT_EQ(error.code(), Code::Denied);
}

TEST(Utf8, KnowsWhatIsValid) {
  for (std::string_view good : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (std::string_view bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5",
                               "\xe2\x82", "\xe2\x28\xa1", "a\xff"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(Hex, IsLowerCase) { EXPECT_EQ(to_hex(std::string("\x00\xaf\x7f", 3)), "00af7f"); }

}  // namespace
}  // namespace cove
