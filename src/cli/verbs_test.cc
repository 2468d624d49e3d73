#include "cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/completion.h"
#include "cli/exec_result.h"
#include "cli/sandbox_body.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Verbs, EachHaveHelpThatNamesThem) {
  for (const CompletedVerb& verb : completed_verbs()) EXPECT_FALSE(verb.summary.empty()) << verb.words;
  for (const VerbGroup& group : verb_groups())
    for (const Verb& verb : group.verbs) {
      EXPECT_THAT(verb.help(), StartsWith("Usage: cove " + std::string(verb.name)));
      if (verb.parts == nullptr) continue;
      for (const Verb& part : verb.parts())
        EXPECT_THAT(part.help(), StartsWith("Usage: cove " + std::string(verb.name) + " " + std::string(part.name)));
    }
}

TEST(Verbs, HaveNoOptionTwice) {
  for (const CompletedVerb& verb : completed_verbs()) {
    std::set<std::string> seen;
    for (const OptionInfo& option : verb.options) {
      EXPECT_TRUE(seen.insert(std::string(option.name)).second) << verb.words << " --" << option.name;
      std::string letter(option.letter == '\0' ? 0 : 1, option.letter);
      EXPECT_TRUE(letter.empty() || seen.insert(letter).second) << verb.words << " -" << letter;
    }
  }
}

TEST(Options, MayStandBehindOperandsWhereNoCommandFollows) {
  std::vector<OptionInfo> table = {{"force", 'f', "", "", ""}, {"time", 't', "TIME", "", ""}};
  auto parsed = parse_options(table, {"a", "-f", "b", "--time", "5", "--", "-c"}, Operands::Anywhere);
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->rest, ElementsAre("a", "b", "-c"));
  EXPECT_EQ(parsed->given.size(), 2u);
}

TEST(Operands, AreCounted) {
  Form form = {.verb = "x", .usage = "A [B]", .text = "", .least = 1, .most = 2};
  EXPECT_TRUE(check_operands(form, {"a"}));
  EXPECT_EQ(check_operands(form, {}).error().hint(), "write cove x A [B]");
  EXPECT_THAT(check_operands(form, {"a", "b", "c"}).error().message(), HasSubstr("unexpected argument 'c' for cove x"));
}

TEST(Completion, KnowsEveryVerbAndOption) {
  for (const std::string& script :
       {bash_completion(completed_verbs()), zsh_completion(completed_verbs()), fish_completion(completed_verbs())})
    for (const char* word :
         {"pause", "inspect", "memory", "copy-out", "watch", "revoke", "session end", "execute", "scope"})
      EXPECT_THAT(script, HasSubstr(word));
}

TEST(Completion, QuotesForAShell) { EXPECT_EQ(shell_quoted("it's\nso"), "'it'\\''s so'"); }

TEST(ExecResult, GivesTheExitCode) {
  EXPECT_EQ(exit_code_of(Json{{"status", "error"}, {"exit_code", 3}, {"signal", nullptr}}), 3);
  EXPECT_EQ(exit_code_of(Json{{"status", "killed"}, {"exit_code", nullptr}, {"signal", 9}}), 137);
  EXPECT_EQ(exit_code_of(Json{{"status", "timeout"}, {"exit_code", 0}, {"signal", nullptr}}), 124);
  EXPECT_EQ(exit_code_of(Json::object()), 125);
}

TEST(SandboxBody, NamesOnlyWhatTheCallerNamed) {
  SandboxSpec spec;
  EXPECT_EQ(client::dump(sandbox_body(spec)), R"({"image":"host","user":"user"})");
  spec.limits.memory.name(1 << 20);
  spec.limits.timeout.name(std::chrono::milliseconds(1500));
  spec.env = {{"A", "1"}};
  spec.workspace = {"/w", Access::ReadWrite};
  Json body = sandbox_body(spec);
  EXPECT_EQ(client::dump(body["limits"]), R"({"memory":1048576,"timeout":1500})");
  EXPECT_EQ(client::dump(body["env"]), R"({"A":"1"})");
  EXPECT_EQ(client::dump(body["workspace"]), R"({"path":"/w","access":"rw"})");
  EXPECT_EQ(client::dump(exec_limits_body(spec.limits)), R"({"timeout":1500})");
}

}  // namespace
}  // namespace cove::cli
