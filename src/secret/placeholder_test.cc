#include "secret/placeholder.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cove {
namespace {

std::string made_for(std::string_view value) { return make_placeholder(value, {}); }

TEST(Placeholder, HasThePrefixAndTheLengthOfItsValue) {
  for (std::string value :
       {"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "gho_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "sk-abcdefghijklmnopqrst",
        "sk-ant-api03-abcdefghijklmnopqrstuvwxyz-0123456789", "xoxb-123456789012-abcdefghijkl", "AKIAIOSFODNN7EXAMPLE",
        "glpat-abcdefghij0123456789", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "pypi-AgEIcHlwaS5vcmcCJDAwMDAw",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "hf_abcdefghijklmnopqrstuvwxyz"}) {
    const std::string placeholder = made_for(value);
    EXPECT_EQ(placeholder.size(), value.size());
    EXPECT_NE(known_prefix(value), "") << value;
    EXPECT_EQ(known_prefix(placeholder), known_prefix(value));
    EXPECT_NE(placeholder, value);
    EXPECT_TRUE(same_shape(placeholder, value)) << placeholder << " for " << value;
  }
}

TEST(Placeholder, KeepsTheKindOfEachCharacter) {
  EXPECT_EQ(made_for("0123456789abcdef0123456789abcdef").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(made_for("12345678901234567890").find_first_not_of("0123456789"), std::string::npos);
  const std::string uuid = made_for("ABCDEFGH-ijkl-1234");
  EXPECT_EQ(uuid[8], '-');
  EXPECT_EQ(uuid[13], '-');
  EXPECT_EQ(uuid.substr(0, 8).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos);
  EXPECT_EQ(uuid.substr(14).find_first_not_of("0123456789"), std::string::npos);
}

TEST(Placeholder, IsRandomWhereAValueHasNothingToImitate) {
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const std::string placeholder = made_for("!!!!!!!!!!!!");
    EXPECT_EQ(placeholder.size(), 12u);
    EXPECT_NE(placeholder, "!!!!!!!!!!!!");
    EXPECT_TRUE(seen.insert(placeholder).second);
  }
  // A prefix with little behind it gives too much away, and nothing is left to be random.
  EXPECT_FALSE(made_for("ghp_12345678").empty());
  EXPECT_EQ(made_for("ghp_1").size(), 0u);
  EXPECT_EQ(made_for("short").size(), 0u);
}

TEST(Placeholder, ClashesWithNoOther) {
  // There are few placeholders of eight digits that avoid these.
  std::vector<std::string> taken;
  for (int i = 0; i < 10; ++i) taken.push_back(std::string(1, static_cast<char>('0' + i)));
  std::vector<std::string_view> others(taken.begin(), taken.begin() + 5);
  const std::string placeholder = make_placeholder("1234567890", others);
  EXPECT_EQ(placeholder.find_first_of("01234"), std::string::npos) << placeholder;
  // None of digits is left: then it is of another form.
  others.assign(taken.begin(), taken.end());
  EXPECT_EQ(make_placeholder("1234567890", others).find_first_of("0123456789"), std::string::npos);
  // The well-known prefix is itself a value.
  EXPECT_EQ(make_placeholder("github_pat_0123456789", {"github_pat_"}).find("github_pat_"), std::string::npos);
}

TEST(Placeholder, IsKeptWhileTheShapeStays) {
  const std::string value = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", placeholder = made_for(value);
  EXPECT_TRUE(same_shape(placeholder, value));
  EXPECT_FALSE(same_shape(placeholder, placeholder));
  EXPECT_FALSE(same_shape(placeholder, value + "x"));
  EXPECT_FALSE(same_shape(placeholder, "gho_16C7e42F292c6912E7710c838347Ae178B4a"));
  EXPECT_FALSE(same_shape(placeholder, "ghp_" + std::string(36, 'a')));
}

}  // namespace
}  // namespace cove
