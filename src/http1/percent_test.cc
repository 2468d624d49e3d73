#include "http1/percent.h"

#include <gtest/gtest.h>

namespace cove::http1 {
namespace {

TEST(Percent, DecodesEscapes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc%c3%A9"), "a b/c\xc3\xa9");
  EXPECT_EQ(percent_decode(""), "");
}

TEST(Percent, RejectsMalformedEscapesAndNul) {
  for (auto text : {"%", "%4", "%zz", "a%2", "%-1", "%00", "a%00b"})
    EXPECT_EQ(percent_decode(text), std::nullopt) << text;
}

TEST(Percent, PlusIsASpaceInQueriesOnly) {
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b%2B", Plus::IsSpace), "a b+");
}

TEST(Query, SplitsAndDecodes) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(parse_query("a=1&b=x%26y&a=2&c&=d&&e=f=g"),
            (Pairs{{"a", "1"}, {"b", "x&y"}, {"a", "2"}, {"c", ""}, {"", "d"}, {"e", "f=g"}}));
  EXPECT_EQ(parse_query(""), Pairs{});
  EXPECT_EQ(parse_query("a=%"), std::nullopt);
  EXPECT_EQ(parse_query("%=a"), std::nullopt);
}

}  // namespace
}  // namespace cove::http1
