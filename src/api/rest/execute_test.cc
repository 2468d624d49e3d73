// Bodies of requests for sessions and for everything in one call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/rest/execute_request.h"
#include "api/rest/session_request.h"

namespace cove::api {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

Json json_of(const std::string& text) { return *parse_object(text); }
Result<engine::SessionOrder> session_of(const std::string& text) { return parse_session(json_of(text), Config()); }
Result<engine::ExecuteOrder> execute_of(const std::string& text, RunForm form = RunForm::Result) {
  return parse_execute(json_of(text), Config(), form);
}

TEST(ParseSession, HasSafeDefaults) {
  engine::SessionOrder order = session_of("{}").value();
  EXPECT_EQ(order.scope, engine::SessionScope::Session);
  EXPECT_EQ(order.mode, engine::Mode::All);
  EXPECT_EQ(order.idle, std::chrono::minutes(30));
  EXPECT_EQ(order.sandbox.workspace.access, Access::None);
  EXPECT_EQ(order.sandbox.image, "");
}

TEST(ParseSession, TakesWhatIsAskedFor) {
  engine::SessionOrder order =
      session_of(R"({"agent":"a b","scope":"agent","mode":"selective","image":"host","env":{"A":"1"},"labels":{"t":"w"},
        "limits":{"memory":"1g","timeout":5000},"lifecycle":{"idle":"90s"},"workspace":{"path":"/w","access":"rw"}})")
          .value();
  EXPECT_EQ(order.agent, "a b");
  EXPECT_EQ(order.scope, engine::SessionScope::Agent);
  EXPECT_EQ(order.mode, engine::Mode::Selective);
  EXPECT_EQ(order.sandbox.image, "host");
  EXPECT_EQ(order.sandbox.workspace.access, Access::ReadWrite);
  EXPECT_TRUE(order.sandbox.limits.memory.named);
  EXPECT_EQ(order.idle, milliseconds(90'000));
  EXPECT_EQ(session_of(R"({"lifecycle":{"idle":null}})")->idle, milliseconds(0));
}

TEST(ParseExecute, RefusesLimitsThatThisMachineCannotGive) {
  auto refused = execute_of(R"({"shell":"true","limits":{"processes":1000000000000}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Invalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("'limits.processes' is 1000000000000, more than"));
}

TEST(ParseSession, SaysWhatIsWrong) {
  struct Case {
    const char* body;
    Code code;
    const char* message;
  };
  const std::string long_name(129, 'x');
  const Case kCases[] = {{R"({"scope":"agent"})", Code::Invalid, "agent"},
                         {R"({"scope":"everybody"})", Code::Invalid, "scope"},
                         {R"({"mode":"some"})", Code::Invalid, "mode"},
                         {R"({"agent":""})", Code::Invalid, "agent"},
                         {R"({"agent":"a\nb"})", Code::Invalid, "agent"},
                         {R"({"image":"NONE"})", Code::Invalid, "image"},
                         {R"({"workspace":{"path":"w"}})", Code::Invalid, "absolute"},
                         {R"({"workspace":{"path":"/w","access":"write"}})", Code::Invalid, "workspace.access"},
                         {R"({"lifecycle":{"max":"1h"}})", Code::Invalid, "lifecycle.max"},
                         {R"({"limits":{"memory":1}})", Code::Invalid, "'limits.memory' is 1 B, less than the least"},
                         {R"({"agnet":"a"})", Code::Invalid, "agnet"}};
  for (const Case& each : kCases) {
    Result<engine::SessionOrder> order = session_of(each.body);
    ASSERT_FALSE(order) << each.body;
    EXPECT_EQ(order.error().code(), each.code) << each.body;
    EXPECT_THAT(order.error().message(), HasSubstr(each.message));
  }
  EXPECT_FALSE(session_of(R"({"agent":")" + long_name + "\"}"));
  EXPECT_THAT(session_of(R"({"agnet":"a"})").error().hint(), HasSubstr("agent"));
}

TEST(ParseExecute, IsForThisCallAloneUnlessSomebodyIsNamed) {
  engine::ExecuteOrder alone = execute_of(R"({"argv":["true"]})").value();
  EXPECT_TRUE(alone.passing);
  EXPECT_FALSE(alone.order.spec.input);
  EXPECT_FALSE(alone.outputs);
  EXPECT_TRUE(execute_of(R"({"argv":["true"],"scope":"session"})")->passing);
  engine::ExecuteOrder agent = execute_of(R"({"argv":["true"],"agent":"a"})").value();
  EXPECT_FALSE(agent.passing);
  EXPECT_EQ(agent.place.scope, engine::SessionScope::Agent);
  EXPECT_EQ(execute_of(R"({"argv":["true"],"scope":"shared"})")->place.scope, engine::SessionScope::Shared);
  engine::ExecuteOrder session = execute_of(R"({"argv":["true"],"session":"s","mode":"all"})").value();
  EXPECT_EQ(session.session, "s");
  EXPECT_FALSE(session.passing);
  EXPECT_EQ(session.mode, engine::Mode::All);
}

TEST(ParseExecute, DividesLimitsBetweenSandboxAndExec) {
  engine::ExecuteOrder request =
      execute_of(R"({"shell":"x","limits":{"memory":"64m","output":100,"retained":10},"timeout":"2s"})").value();
  EXPECT_EQ(request.place.sandbox.limits.memory.value, 64 * kMiB);
  EXPECT_EQ(request.order.limits.output.value, 100u);
  EXPECT_TRUE(request.order.limits.retained.named);
  EXPECT_EQ(request.order.limits.timeout.value, milliseconds(2000));
  Result<engine::ExecuteOrder> refused = execute_of(R"({"shell":"x","session":"s","limits":{"memory":"64m"}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Unsupported);
}

TEST(ParseExecute, TakesFilesInAndOut) {
  engine::ExecuteOrder request = execute_of(
                                     R"({"language":"python","code":"1","files":[{"path":"a/b","text":"x"},
      {"path":"/tmp/c","base64":"AP8="}],"outputs":["*.csv","out/**"],"stdin":"in"})")
                                     .value();
  ASSERT_EQ(request.files.size(), 2u);
  EXPECT_EQ(request.files[1].data, std::string("\0\xff", 2));
  EXPECT_THAT(*request.outputs, ElementsAre("*.csv", "out/**"));
  EXPECT_EQ(request.order.input, "in");
  EXPECT_TRUE(execute_of(R"({"shell":"x","outputs":[]})")->outputs->empty());
}

TEST(ParseExecute, SaysWhatIsWrong) {
  for (const char* body : {R"({})",
                           R"({"argv":[]})",
                           R"({"argv":[""]})",
                           R"({"argv":["x"],"shell":"x"})",
                           R"({"code":"x"})",
                           R"({"code":"x","language":"pyton"})",
                           R"({"argv":["x"],"language":"python"})",
                           R"({"code":"x","language":"python","argv":["x"]})",
                           R"({"argv":["x"],"cwd":"relative"})",
                           R"({"argv":["x"],"files":{}})",
                           R"({"argv":["x"],"files":[1]})",
                           R"({"argv":["x"],"files":[{"path":"a"}]})",
                           R"({"argv":["x"],"files":[{"text":"a"}]})",
                           R"({"argv":["x"],"files":[{"path":"a/","text":""}]})",
                           R"({"argv":["x"],"files":[{"path":"a","text":"a","base64":"YQ=="}]})",
                           R"({"argv":["x"],"files":[{"path":"a","base64":"!"}]})",
                           R"({"argv":["x"],"files":[{"path":"a","text":"a","mode":"0755"}]})",
                           R"({"argv":["x"],"outputs":"*"})",
                           R"({"argv":["x"],"outputs":["/etc/passwd"]})",
                           R"({"argv":["x"],"outputs":["../x"]})",
                           R"({"argv":["x"],"outputs":["a/../../x"]})",
                           R"({"argv":["x"],"outputs":[""]})",
                           R"({"argv":["x"],"outputs":["[a"]})",
                           R"({"argv":["x"],"outputs":["{a"]})",
                           R"({"argv":["x"],"outputs":["~/x"]})",
                           R"({"argv":["x"],"session":"s","agent":"a"})",
                           R"({"argv":["x"],"session":"s","image":"host"})",
                           R"({"argv":["x"],"scope":"agent"})",
                           R"({"argv":["x"],"mode":"none"})",
                           R"({"argv":["x"],"timeout":"soon"})"}) {
    Result<engine::ExecuteOrder> request = execute_of(body);
    ASSERT_FALSE(request) << body;
    EXPECT_EQ(request.error().code(), Code::Invalid) << body;
  }
  Result<engine::ExecuteOrder> typo = execute_of(R"({"argv":["x"],"sesion":"s"})");
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().hint(), HasSubstr("session"));
  typo = execute_of(R"({"argv":["x"],"session":"s","limts":{}})");
  ASSERT_FALSE(typo);
  EXPECT_THAT(typo.error().hint(), HasSubstr("limits"));
  typo = execute_of(R"({"argv":["x"],"files":[{"pth":"s","text":""}]})");
  ASSERT_FALSE(typo);
}

TEST(Pattern, MayBeAnythingBelowTheFolder) {
  for (const char* pattern : {"*", "a b", "out/*.csv", "[abc]x", "[]x]", "{a,b}/c", "a\\[b", "x]", "..a/b", "a../b"})
    EXPECT_TRUE(check_pattern(pattern)) << pattern;
  for (const char* pattern : {"", "/", "..", "a/..", "[", "[a", "{", "a}", "{{a}", "a\\"})
    EXPECT_FALSE(check_pattern(pattern)) << pattern;
  EXPECT_FALSE(check_pattern(std::string(2000, 'a')));
}

}  // namespace
}  // namespace cove::api
