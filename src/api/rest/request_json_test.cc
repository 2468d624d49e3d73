#include "api/rest/request_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::api {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Json parsed(const char* text) {
  auto json = parse_object(text);
  EXPECT_TRUE(json) << text;
  return json.value_or(Json::object());
}

TEST(ParseObject, TakesNothingAsAnEmptyObject) {
  EXPECT_EQ(parse_object(""), Json::object());
  EXPECT_EQ(parse_object(" \r\n"), Json::object());
}

TEST(ParseObject, RefusesWhatIsNoObject) {
  for (const char* text : {"{\"a\":", "[]", "\"text\"", "{} {}", "\xff", "nul", "{\"a\":\"\xff\"}"})
    EXPECT_EQ(parse_object(text).error().code(), Code::Invalid) << text;
}

TEST(ParseObject, RefusesNestingWithoutEnd) {
  std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  auto json = parse_object(deep);
  ASSERT_FALSE(json);
  EXPECT_THAT(json.error().message(), HasSubstr("deep"));
  EXPECT_TRUE(parse_object("{\"a\":" + std::string(20, '[') + std::string(20, ']') + "}"));
}

TEST(Fields, GivesWhatIsThere) {
  Json json = parsed(R"({"t":"x","f":true,"i":7,"n":1.5,"l":["a","b"],"m":{"k":"v"}})");
  Fields fields(json);
  EXPECT_EQ(**fields.text("t"), "x");
  EXPECT_EQ(**fields.flag("f"), true);
  EXPECT_EQ(**fields.integer("i", 0, 10), 7);
  EXPECT_EQ(**fields.number("n"), 1.5);
  EXPECT_EQ(**fields.texts("l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((**fields.text_map("m")).at("k"), "v");
  EXPECT_TRUE(fields.finish());
}

TEST(Fields, TakesNullAsAbsent) {
  Json json = parsed(R"({"t":null})");
  Fields fields(json);
  EXPECT_FALSE((*fields.text("t")).has_value());
  EXPECT_FALSE((*fields.text("u")).has_value());
  EXPECT_TRUE(fields.is_null("t"));
  EXPECT_FALSE(fields.is_null("u"));
}

TEST(Fields, SuggestsTheNearestNameForAnUnknownOne) {
  Json json = parsed(R"({"lifecycel":{}})");
  Fields fields(json);
  (void)fields.object("lifecycle");
  (void)fields.text("name");
  auto finished = fields.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code(), Code::Invalid);
  EXPECT_THAT(finished.error().message(), HasSubstr("'lifecycel'"));
  EXPECT_THAT(finished.error().hint(), HasSubstr("'lifecycle'"));
}

TEST(Fields, NamesFieldsWithTheObjectsAroundThem) {
  Json json = parsed(R"({"limits":{"memori":"1g","memory":"lots"}})");
  Fields fields(json);
  Fields limits = **fields.object("limits");
  EXPECT_THAT(limits.size("memory").error().message(), HasSubstr("'limits.memory'"));
  auto finished = limits.finish();
  EXPECT_THAT(finished.error().message(), HasSubstr("'limits.memori'"));
  EXPECT_THAT(finished.error().hint(), HasSubstr("'limits.memory'"));
}

TEST(Fields, ReadsSizes) {
  Json json = parsed(R"({"a":1024,"b":"512m","c":0,"d":-1,"e":1.5,"f":true,"g":2e3,"h":1e30})");
  Fields fields(json);
  EXPECT_EQ(**fields.size("a"), 1024u);
  EXPECT_EQ(**fields.size("b"), 512u << 20);
  EXPECT_EQ(**fields.size("c"), 0u);
  EXPECT_EQ(**fields.size("g"), 2000u);
  for (const char* name : {"d", "e", "f", "h"}) EXPECT_FALSE(fields.size(name)) << name;
}

TEST(Fields, ReadsDurations) {
  Json json =
      parsed(R"({"a":30,"b":0.25,"c":"500ms","d":"1d","e":-1,"f":"soon","g":1e12,"h":0,"i":"5 parsecs","j":2e3})");
  Fields fields(json);
  EXPECT_EQ(**fields.duration("a"), milliseconds(30));
  EXPECT_EQ(**fields.duration("c"), milliseconds(500));
  EXPECT_EQ(**fields.duration("d"), milliseconds(86'400'000));
  EXPECT_EQ(**fields.duration("h"), milliseconds(0));
  EXPECT_EQ(**fields.duration("j"), milliseconds(2000));
  for (const char* name : {"b", "e", "f", "g", "i"}) EXPECT_FALSE(fields.duration(name)) << name;
}

TEST(Fields, RefusesOtherTypes) {
  Json json = parsed(R"({"n":7,"t":"x","z":"a\u0000b","l":["a",1],"m":{"k":1},"o":[],"big":18446744073709551615})");
  Fields fields(json);
  EXPECT_FALSE(fields.text("n"));
  EXPECT_FALSE(fields.flag("t"));
  EXPECT_FALSE(fields.integer("t", 0, 1));
  EXPECT_FALSE(fields.integer("n", 0, 6));
  EXPECT_FALSE(fields.integer("big", INT64_MIN, INT64_MAX));
  EXPECT_FALSE(fields.text("z"));
  EXPECT_EQ((*fields.data("z"))->size(), 3u);
  EXPECT_THAT(fields.texts("l").error().message(), HasSubstr("'l[1]'"));
  EXPECT_THAT(fields.text_map("m").error().message(), HasSubstr("'m.k'"));
  EXPECT_FALSE(fields.object("o"));
}

TEST(Fields, OffersTheChoices) {
  Json json = parsed(R"({"w":"weep"})");
  Fields fields(json);
  auto choice = fields.choice("w", {"kill", "keep"});
  ASSERT_FALSE(choice);
  EXPECT_THAT(choice.error().hint(), HasSubstr("kill, keep"));
}

TEST(Fields, TellsWhatIsMissing) {
  Json json = parsed(R"({"file":{}})");
  Fields fields(json);
  Fields file = **fields.object("file");
  auto path = required(file, "path", file.text("path"));
  ASSERT_FALSE(path);
  EXPECT_THAT(path.error().message(), HasSubstr("'file.path' is missing"));
  EXPECT_EQ(path.error().pointer(), "/file/path");
}

TEST(Fields, PointsToWhatIsWrong) {
  Json json =
      parsed(R"({"limits":{"memory":"lots","x":1},"argv":["a",1],"env":{"a/b~c":1},"files":[{},{"path":7},1]})");
  Fields fields(json);
  Fields limits = **fields.object("limits");
  EXPECT_EQ(limits.size("memory").error().pointer(), "/limits/memory");
  EXPECT_EQ(limits.finish().error().pointer(), "/limits/x");
  EXPECT_EQ(fields.texts("argv").error().pointer(), "/argv/1");
  EXPECT_EQ(fields.text_map("env").error().pointer(), "/env/a~1b~0c");
  EXPECT_EQ(fields.objects("files", 9).error().pointer(), "/files/2");
  EXPECT_EQ(fields.objects("files", 2).error().pointer(), "/files");
  EXPECT_EQ(fields.checked("env", Result<int>(fail(Code::Invalid, "is odd"))).error().pointer(), "/env");
  EXPECT_EQ(fields.wrong_key("env", "=", "is odd").pointer(), "/env/=");
}

TEST(Fields, PointsIntoTheObjectsOfAList) {
  Json json = parsed(R"({"files":[{},{"path":7}]})");
  Fields fields(json);
  auto files = fields.objects("files", 9);
  ASSERT_TRUE(files);
  auto path = files->at(1).text("path");
  EXPECT_THAT(path.error().message(), HasSubstr("'files[1].path'"));
  EXPECT_EQ(path.error().pointer(), "/files/1/path");
}

TEST(Body, RefusesAFieldThatIsThereTwice) {
  for (const char* text : {R"({"a":1,"a":2})", R"({"a":{"b":1,"c":2,"b":1}})", R"({"x":[{"b":1,"b":1}]})"}) {
    Result<Json> refused = parse_object(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), Code::Invalid);
    EXPECT_NE(refused.error().message().find("twice"), std::string::npos);
  }
  EXPECT_TRUE(parse_object(R"({"a":{"b":1},"b":{"a":1},"c":[{"a":1},{"a":1}]})"));
}

}  // namespace
}  // namespace cove::api
