#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace cove {
namespace {

Json parse(std::string_view text) { return Json::parse(text).value(); }

TEST(Json, KeepsTheOrderOfMembers) {
  Json json = {{"b", 1}, {"a", {1, 2.5, "x", nullptr, true}}};
  json["c"]["d"] = "e";
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[1,2.5,"x",null,true],"c":{"d":"e"}})");
  EXPECT_EQ(json.dump_sorted(), R"({"a":[1,2.5,"x",null,true],"b":1,"c":{"d":"e"}})");
}

TEST(Json, IndentsWhenAsked) {
  Json json = json_object({{"a", Json::array()}, {"b", Json::array({1, 2})}, {"c", Json::object()}});
  EXPECT_EQ(json.dump(2), "{\n  \"a\": [],\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
}

TEST(Json, ReadsWhatItWrites) {
  for (const char* text :
       {"null", "true", "[]", "{}", "0", "-1", "18446744073709551615", "-9223372036854775808", "1.5", "1e+30", "42.0",
        R"("a\"\\\b\f\n\r\t\u0001 ü 🐧")", R"([[{"a":[{}]}],"x"])", R"({"":1," ":2})"})
    EXPECT_EQ(parse(text).dump(), text);
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "nul", "1 2", "'a'", "[01]", "\"\x01\"", "\"\xff\"",
                           "{\"a\" 1}", "[1}", "NaN", "\"\\ud800\""})
    EXPECT_FALSE(Json::parse(text)) << text;
}

TEST(Json, BoundsTheDepth) {
  const std::string deep = std::string(32, '[') + std::string(32, ']');
  EXPECT_TRUE(Json::parse(deep, 32));
  EXPECT_FALSE(Json::parse(deep, 31));
  EXPECT_FALSE(Json::parse(std::string(1'000'000, '[')));
}

TEST(Json, TakesTheLastOfTwoMembersOrRefusesThem) {
  const char* text = R"({"a":1,"b":{"x":1,"y":2,"x":3},"a":2})";
  EXPECT_EQ(parse(text).dump(), R"({"b":{"y":2,"x":3},"a":2})");
  Result<Json> refused = Json::parse_strict(text);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("'x' twice"), std::string::npos);
  EXPECT_TRUE(Json::parse_strict(R"({"a":{"a":1},"b":{"a":1}})"));
}

TEST(Json, WritesBytesThatAreNotUtf8AsTheReplacementCharacter) {
  EXPECT_EQ(Json(std::string("a\xff"
                             "b"))
                .dump(),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(Json(std::string("\xed\xa0\x80")).dump(), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(Json(std::string("\xc3")).dump(), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
}

TEST(Json, ConvertsNumbersAndRefusesOtherTypes) {
  Json json = parse(R"({"a": 3, "b": -1, "c": 2.5, "s": "x", "l": ["p", "q"], "m": {"k": "v"}})");
  EXPECT_EQ(json["a"].get<int>(), 3);
  EXPECT_EQ(json["b"].get<int64_t>(), -1);
  EXPECT_EQ(json["c"].get<double>(), 2.5);
  EXPECT_TRUE(json["a"].is_number_unsigned());
  EXPECT_FALSE(json["b"].is_number_unsigned());
  EXPECT_EQ(json["l"].get<std::vector<std::string>>(), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ((json["m"].get<std::map<std::string, std::string>>()), (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_THROW(json["s"].get<int>(), Json::exception);
  EXPECT_THROW(json["a"].as_string(), Json::exception);
  EXPECT_THROW(json.at("nothing"), Json::exception);
  EXPECT_THROW(json.value("s", 1), Json::exception);
  EXPECT_EQ(json.value("nothing", "otherwise"), "otherwise");
  EXPECT_TRUE(std::as_const(json)["nothing"].is_null());
}

TEST(Json, ComparesByValue) {
  EXPECT_EQ(parse(R"({"a":1,"b":[2]})"), parse(R"({"b":[2.0],"a":1})"));
  EXPECT_NE(parse("-1"), parse("18446744073709551615"));
  EXPECT_NE(parse("[1,2]"), parse("[2,1]"));
  EXPECT_NE(Json("1"), Json(1));
}

TEST(Json, ChangesInPlace) {
  Json json = {{"a", 1}, {"b", 2}};
  json.update({{"b", 3}, {"c", 4}});
  json.erase("a");
  Json copy = json;
  copy["b"] = Json::array({json});
  copy["b"].push_back(std::move(json));
  EXPECT_EQ(copy.dump(), R"({"b":[{"b":3,"c":4},{"b":3,"c":4}],"c":4})");
  EXPECT_TRUE(json.is_null());  // NOLINT: what was moved from is null
  EXPECT_THROW(copy["c"].push_back(1), Json::exception);
}

}  // namespace
}  // namespace cove
