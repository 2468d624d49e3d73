#include "model/language.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Language& language(const std::string& name) { return **find_language(builtin_languages(), name); }

LanguageOffer host(const std::string& version, const std::string& program = "python3") {
  return {version, "host", "/usr/bin/" + program, {{}, {program, "{file}"}, {}}};
}

LanguageOffer image(const std::string& version, const std::string& name) {
  return {version, name, "", {{}, {"python3", "{file}"}, {}}};
}

TEST(Language, IsFoundByItsNameAndByOthers) {
  for (const auto& [word, name] : std::vector<std::pair<std::string, std::string>>{{"python", "python"},
                                                                                   {"py", "python"},
                                                                                   {"Python", "python"},
                                                                                   {"js", "javascript"},
                                                                                   {"node", "javascript"},
                                                                                   {"ts", "typescript"},
                                                                                   {"sh", "bash"},
                                                                                   {"c++", "cpp"},
                                                                                   {"golang", "go"},
                                                                                   {"rs", "rust"},
                                                                                   {"rb", "ruby"},
                                                                                   {"R", "r"}})
    EXPECT_EQ(language(word).name, name) << word;
}

TEST(Language, MayHaveAVersion) {
  LanguageWish wish = *parse_language(builtin_languages(), "node@22");
  EXPECT_EQ(wish.name, "javascript");
  EXPECT_EQ(wish.version, "22");
  EXPECT_EQ(to_text(wish), "javascript@22");
  EXPECT_EQ(parse_language(builtin_languages(), "bash")->version, "");
  for (const char* text : {"python@", "python@3 10", "python@3@1"})
    EXPECT_EQ(parse_language(builtin_languages(), text).error().code(), Code::Invalid) << text;
}

TEST(Language, ThatIsNotKnownIsNamedWithTheClosest) {
  auto near = parse_language(builtin_languages(), "pyton@3.10");
  EXPECT_THAT(near.error().message(), HasSubstr("unknown language 'pyton'"));
  EXPECT_THAT(near.error().hint(), HasSubstr("did you mean python?"));
  EXPECT_THAT(parse_language(builtin_languages(), "smalltalk").error().hint(),
              HasSubstr("python, javascript, typescript"));
}

TEST(Version, MatchesByItsFirstNumbers) {
  EXPECT_TRUE(is_version("3.10", "3.10.13"));
  EXPECT_TRUE(is_version("3", "3.10.13"));
  EXPECT_TRUE(is_version("22", "22"));
  EXPECT_FALSE(is_version("3.1", "3.10"));
  EXPECT_FALSE(is_version("3.10.13", "3.10"));
  EXPECT_TRUE(is_older("3.9", "3.10"));
  EXPECT_TRUE(is_older("22.5.1", "22.6"));
  EXPECT_FALSE(is_older("22.6", "22.6"));
  EXPECT_FALSE(is_older("24", "22.6"));
}

TEST(ChooseLanguage, TakesTheVersionThatIsAskedFor) {
  auto choice = choose_language(language("python"), "3.10", {image("3.10", "py10"), host("3.11.2")}, {}, "");
  EXPECT_EQ(choice->use, (LanguageUse{"python", "3.10", "py10", ""}));
  choice = choose_language(language("python"), "3.11", {image("3.10", "py10"), host("3.11.2")}, {}, "");
  EXPECT_EQ(choice->use, (LanguageUse{"python", "3.11.2", "host", ""}));
}

TEST(ChooseLanguage, TakesTheNewestThatFits) {
  auto choice = choose_language(language("python"), "3",
                                {image("3.9", "a"), host("3.11.2"), host("3.10.1", "python3.10")}, {}, "");
  EXPECT_EQ(choice->use.version, "3.11.2");
}

TEST(ChooseLanguage, TakesTheTablesImageBeforeTheHosts) {
  auto choice = choose_language(language("python"), "", {image("3.12", "py12"), host("3.12.4")}, {}, "");
  EXPECT_EQ(choice->use, (LanguageUse{"python", "3.12", "py12", ""}));
}

TEST(ChooseLanguage, FallsBackOnlyWhereNoVersionIsAskedForAndSaysSo) {
  auto choice = choose_language(language("python"), "", {image("3.10", "py10"), host("3.11.2")}, {}, "");
  EXPECT_EQ(choice->use.version, "3.11.2");
  EXPECT_EQ(choice->use.note, "python 3.12, the usual one, is not here: it runs with 3.11.2 in the host image");
  choice = choose_language(language("python"), "", {image("3.9", "py9"), image("3.10", "py10")}, {}, "");
  EXPECT_EQ(choice->use.version, "3.10");
  EXPECT_THAT(choice->use.note, HasSubstr("it runs with 3.10 in the image py10"));
  auto refused = choose_language(language("python"), "3.12", {host("3.11.2")}, {}, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::NotFound);
}

TEST(ChooseLanguage, HasNoUsualVersionForMost) {
  auto choice = choose_language(language("ruby"), "", {host("3.1.2", "ruby")}, {}, "");
  EXPECT_EQ(choice->use, (LanguageUse{"ruby", "3.1.2", "host", ""}));
}

TEST(ChooseLanguage, NamesWhatIsToBeHad) {
  auto refused = choose_language(language("python"), "2.7", {image("3.10", "py10"), host("3.11.2")},
                                 {{"3.12", "python:3.12-slim"}}, "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "python 2.7 is not to be had here");
  EXPECT_EQ(refused.error().hint(),
            "there is 3.10 in the image py10; 3.11.2 in the host image; 3.12 after cove pull python:3.12-slim");
  refused = choose_language(language("python"), "2.7", {}, {}, "mine:1");
  EXPECT_EQ(refused.error().message(), "the image mine:1 has no python 2.7");
  EXPECT_THAT(choose_language(language("ruby"), "", {}, {}, "").error().hint(), HasSubstr("install ruby"));
}

TEST(Filled, PutsPathsIn) {
  CodePlaces places{"/tmp/a.b.ts", "/tmp/o", "/tmp/o.d", "p.Main"};
  EXPECT_THAT(
      filled({"tsc", "--outDir={dir}", "cp {file} {file}", "{out}", "{class}", "{dir}/{stem}.js", "-x"}, places),
      ElementsAre("tsc", "--outDir=/tmp/o.d", "cp /tmp/a.b.ts /tmp/a.b.ts", "/tmp/o", "p.Main", "/tmp/o.d/a.b.js",
                  "-x"));
}

TEST(JavaClass, IsTheOneThatIsStarted) {
  EXPECT_EQ(java_class("public class Hello { class Inner {} }"), "Hello");
  EXPECT_EQ(java_class("class First {} class Second {}"), "First");
  EXPECT_EQ(java_class("class Helper {} public final class Main {}"), "Main");
  EXPECT_EQ(java_class("package a.b;\nimport java.util.*;\npublic record P(int x) {}"), "a.b.P");
  EXPECT_EQ(java_class("// public class No\n/* class No */ class Yes { String s = \"} class X\"; char c = '{'; }"),
            "Yes");
  EXPECT_EQ(java_class("interface I { void f(); } public enum E { A }"), "E");
  EXPECT_EQ(java_class(""), "Main");
}

TEST(BuiltinLanguages, AnswerToOneNameEach) {
  std::vector<std::string> words;
  for (const Language& each : builtin_languages()) {
    words.push_back(each.name);
    words.insert(words.end(), each.aliases.begin(), each.aliases.end());
    EXPECT_THAT(each.commands, Not(IsEmpty())) << each.name;
    for (const CommandLine& command : each.commands) EXPECT_THAT(command.run, Not(IsEmpty())) << each.name;
  }
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

}  // namespace
}  // namespace cove
