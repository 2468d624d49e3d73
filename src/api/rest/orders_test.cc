// Bodies of requests as orders to the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "api/rest/exec_request.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/values.h"

namespace cove::api {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

Json json_of(const char* text) { return *parse_object(text); }

Checked<engine::CreateOrder> create_of(const char* text, const Config& config = {}) {
  return parse_create(json_of(text), config);
}

TEST(ParseCreate, FillsInTheConfiguration) {
  Config config;
  config.limits.memory = 128 * kMiB;
  config.lifecycle.idle = std::chrono::minutes(7);
  config.lifecycle.auto_resume = true;
  auto order = create_of("{}", config);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->spec.limits.memory.value, 128 * kMiB);
  EXPECT_FALSE(order->spec.limits.memory.named);
  EXPECT_EQ(order->lifecycle.idle, std::chrono::minutes(7));
  EXPECT_TRUE(order->lifecycle.auto_resume);
  EXPECT_TRUE(order->start);
  EXPECT_EQ(order->spec.image, "host");
  EXPECT_EQ(order->spec.lifetime, Lifetime::Long);
}

TEST(ParseCreate, TakesWhatIsAskedFor) {
  auto order = create_of(R"({"name":"b","labels":{"t":"w"},"env":{"A":"1"},"user":"root","start":false,"nesting":true,
    "limits":{"cpus":0.5,"memory":"256m","timeout":5000,"grace":"500ms","retained":4096},"network":{"tier":"restricted","block":["*.example.org"],"budget":{"bytes":"1m"}},
    "workspace":{"path":"/w","access":"rw"},"lifecycle":{"idle":null,"max":"1h","on_expire":"delete"},"strict":true})");
  ASSERT_TRUE(order) << order.error().detail;
  EXPECT_EQ(order->spec.name, "b");
  EXPECT_EQ(order->spec.labels.at("t"), "w");
  EXPECT_THAT(order->spec.env, ElementsAre(std::pair<std::string, std::string>("A", "1")));
  EXPECT_EQ(order->spec.limits.cpus.value, 0.5);
  EXPECT_TRUE(order->spec.limits.memory.named);
  EXPECT_EQ(order->spec.limits.timeout.value, milliseconds(5000));
  EXPECT_EQ(order->spec.limits.grace.value, milliseconds(500));
  EXPECT_EQ(order->spec.limits.retained.value, 4096u);
  EXPECT_EQ(order->spec.network.tier, NetworkTier::Restricted);
  EXPECT_THAT(order->spec.network.block, ElementsAre("*.example.org"));
  EXPECT_EQ(order->spec.network.budget.bytes, kMiB);
  EXPECT_EQ(order->spec.workspace.access, Access::ReadWrite);
  EXPECT_EQ(order->spec.strictness, Strictness::Strict);
  EXPECT_EQ(order->lifecycle.idle, milliseconds(0));
  EXPECT_EQ(order->lifecycle.max, std::chrono::hours(1));
  EXPECT_EQ(order->lifecycle.on_expire, OnExpire::Delete);
  EXPECT_FALSE(order->start);
}

TEST(ParseCreate, RefusesWhatMakesNoSense) {
  for (const char* text : {R"({"imagge":"host"})",
                           R"({"name":"no spaces"})",
                           R"({"name":7})",
                           R"({"labels":["a"]})",
                           R"({"labels":{"a":1}})",
                           R"({"labels":{"a":null}})",
                           R"({"limits":{"memory":"lots"}})",
                           R"({"limits":{"memori":"1g"}})",
                           R"({"limits":{"cpus":-1}})",
                           R"({"lifecycle":{"on_expire":"explode"}})",
                           R"({"network":"everything"})",
                           R"({"network":{"mode":"all"}})",
                           R"({"network":{"tier":"all"}})",
                           R"({"network":{"budget":{"bytes":-1}}})",
                           R"({"network":{"allow":"pypi.org"}})",
                           R"({"workspace":{"path":"/t","access":"some"}})",
                           R"({"workspace":{"access":"ro"}})",
                           R"({"workspace":{"path":"relative"}})",
                           R"({"runtime":"imaginary"})",
                           R"({"start":"yes"})",
                           R"({"env":{"A=B":"1"}})",
                           R"({"user":"-x"})"}) {
    auto order = create_of(text);
    ASSERT_FALSE(order) << text;
    EXPECT_EQ(order.error().status, 400) << text;
    EXPECT_EQ(order.error().code, "invalid") << text;
  }
}

TEST(ParseCreate, RefusesLimitsThatCannotBeHeldWithTheirBounds) {
  const std::pair<const char*, const char*> kImpossible[] = {
      {R"({"limits":{"memory":1}})", "'limits.memory' is 1 B, less than the least (4 MiB)"},
      {R"({"limits":{"memory":"100000t"}})", "'limits.memory' is 97.7 PiB, more than this machine has ("},
      {R"({"limits":{"cpus":0.001}})", "'limits.cpus' is 0.001, less than the least (0.01)"},
      {R"({"limits":{"cpus":1000000}})", "'limits.cpus' is 1000000, more than this machine has ("},
      {R"({"limits":{"disk":1}})", "'limits.disk' is 1 B, less than the least (64 KiB)"},
      {R"({"limits":{"open_files":1}})", "'limits.open_files' is 1, less than the least (16)"},
      {R"({"limits":{"open_files":0}})", "'limits.open_files' is 0, less than the least (16)"},
      {R"({"limits":{"processes":1000000000000}})",
       "'limits.processes' is 1000000000000, more than this machine has ("},
  };
  for (const auto& [text, said] : kImpossible) {
    auto order = create_of(text);
    ASSERT_FALSE(order) << text;
    EXPECT_EQ(order.error().status, 400) << text;
    EXPECT_THAT(order.error().detail, HasSubstr(said));
    auto update = parse_update(json_of(text), {});
    ASSERT_FALSE(update) << text;
    EXPECT_THAT(update.error().message(), HasSubstr(said));
  }
}

TEST(ParseCreate, TakesZeroForNoneAndLeavesTheConfigurationAlone) {
  auto none = create_of(R"({"limits":{"cpus":0,"memory":0,"disk":0,"processes":0}})");
  ASSERT_TRUE(none) << none.error().detail;
  EXPECT_EQ(none->spec.limits.memory.value, 0u);
  Config config;
  config.limits.memory = 1;
  config.limits.processes.name(1'000'000'000'000);
  EXPECT_TRUE(create_of(R"({"limits":{"cpus":0.5}})", config));
}

TEST(ParseCreate, RefusesFieldsThatItDoesNotKnow) {
  for (const char* text : {R"({"snapshot":"x"})", R"({"setup":"x"})", R"({"volumes":[]})"})
    EXPECT_EQ(create_of(text).error().status, 400) << text;
  EXPECT_EQ(create_of(R"({"image":"alpine"})")->spec.image, "alpine");
  EXPECT_EQ(create_of(R"({"image":"Not An Image"})").error().status, 400);
}

TEST(ParseCreate, TakesAWorkspaceWithoutAccessForNone) {
  EXPECT_EQ(create_of(R"({"workspace":{"path":"/w"}})")->spec.workspace.access, Access::ReadOnly);
  EXPECT_EQ(create_of(R"({"workspace":{"path":"/w","access":"none"}})")->spec.workspace.access, Access::None);
}

TEST(ParseUpdate, MergesLabelsAndVariables) {
  engine::SandboxInfo now;
  now.spec.labels = {{"a", "1"}, {"b", "2"}};
  now.spec.env = {{"A", "1"}, {"B", "2"}};
  auto order = parse_update(json_of(R"({"labels":{"b":null,"c":"3"},"env":{"B":null,"C":"3"},"name":null})"), now);
  ASSERT_TRUE(order);
  EXPECT_EQ(*order->labels, (std::map<std::string, std::string>{{"a", "1"}, {"c", "3"}}));
  EXPECT_EQ(*order->env, (Environment{{"A", "1"}, {"C", "3"}}));
  EXPECT_EQ(order->name, "");
}

TEST(ParseUpdate, NamesOnlyTheLimitsThatAreThere) {
  engine::SandboxInfo now;
  now.spec.limits.memory.name(kGiB);
  now.spec.limits.retained = 17;
  auto order = parse_update(json_of(R"({"limits":{"processes":9}})"), now);
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->limits->memory.named);
  EXPECT_TRUE(order->limits->processes.named);
  EXPECT_EQ(order->limits->retained.value, 17u);
}

TEST(ParseUpdate, LeavesAloneWhatIsNotNamed) {
  auto order = parse_update(json_of("{}"), {});
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->name || order->labels || order->env || order->limits || order->idle || order->max);
  EXPECT_FALSE(parse_update(json_of(R"({"image":"host"})"), {}));
}

Result<ExecRequest> exec_of(const char* text, SilentInput silent = SilentInput::Open) {
  return parse_exec(json_of(text), builtin_languages(), silent);
}

TEST(ParseExec, TakesACommandInEachForm) {
  EXPECT_THAT(exec_of(R"({"argv":["ls","-l"]})")->order.spec.argv, ElementsAre("ls", "-l"));
  auto shell = exec_of(R"({"shell":"a | b"})");
  EXPECT_THAT(shell->order.spec.argv, ElementsAre("sh", "-c", "a | b"));
  EXPECT_EQ(shell->order.shell, "a | b");
  auto code = exec_of(R"_({"language":"python","code":"print(1)"})_");
  EXPECT_EQ(code->order.language, "python");
  EXPECT_EQ(code->order.version, "");
  EXPECT_EQ(code->order.code, "print(1)");
  auto file = exec_of(R"_({"language":"py@3.10","file":"/home/user/a.py","args":["-x","y"]})_");
  EXPECT_EQ(file->order.language, "python");
  EXPECT_EQ(file->order.version, "3.10");
  EXPECT_EQ(file->order.file, "/home/user/a.py");
  EXPECT_THAT(file->order.arguments, ElementsAre("-x", "y"));
}

TEST(ParseExec, RefusesWhatMakesNoSense) {
  for (const char* text : {"{}",
                           R"({"argv":[]})",
                           R"({"argv":[""]})",
                           R"({"argv":"ls"})",
                           R"({"argv":["ls"],"shell":"ls"})",
                           R"({"code":"x"})",
                           R"({"language":"python"})",
                           R"({"argv":["ls"],"language":"python"})",
                           R"({"argv":["ls"],"pty":{}})",
                           R"({"argv":["ls"],"pty":{"rows":0,"cols":80}})",
                           R"({"argv":["ls"],"timeout":"soon"})",
                           R"({"argv":["ls"],"stdin":{"base64":"!"}})",
                           R"({"argv":["ls"],"stdin":7})",
                           R"({"argv":["ls"],"on_disconnect":"weep"})",
                           R"({"argv":["ls"],"enviroment":{}})",
                           R"({"argv":["a\u0000b"]})",
                           R"({"argv":["ls"],"cwd":"here"})",
                           R"({"code":"x","language":"pyton"})",
                           R"({"code":"x","language":"python@"})",
                           R"({"argv":["x"],"args":["y"]})",
                           R"({"code":"x","file":"/x","language":"c"})",
                           R"({"file":"x.c","language":"c"})",
                           R"({"file":"/x.c"})"}) {
    auto request = exec_of(text);
    ASSERT_FALSE(request) << text;
    EXPECT_EQ(request.error().code(), Code::Invalid) << text;
  }
  EXPECT_THAT(exec_of(R"({"code":"x","language":"pyton"})").error().hint(), HasSubstr("python"));
}

TEST(ParseExec, KnowsWhatBecomesOfTheInput) {
  EXPECT_TRUE(exec_of(R"({"shell":"x"})")->order.spec.input);
  EXPECT_FALSE(exec_of(R"({"shell":"x"})", SilentInput::Closed)->order.spec.input);
  EXPECT_FALSE(exec_of(R"({"shell":"x","stdin":null})")->order.spec.input);
  auto given = exec_of(R"({"shell":"x","stdin":"hi"})", SilentInput::Closed);
  EXPECT_TRUE(given->order.spec.input);
  EXPECT_EQ(given->order.input, "hi");
  EXPECT_EQ(exec_of(R"({"shell":"x","stdin":{"base64":"aGk="}})")->order.input, "hi");
}

TEST(ParseExec, TakesLimitsAndTheShortFormOfTheTimeout) {
  auto request = exec_of(R"({"shell":"x","timeout":"200ms","limits":{"output":"10k","retained":100}})");
  EXPECT_EQ(request->order.limits.timeout.value, milliseconds(200));
  EXPECT_TRUE(request->order.limits.timeout.named);
  EXPECT_EQ(request->order.limits.output.value, 10 * kKiB);
  EXPECT_TRUE(request->order.limits.retained.named);
  EXPECT_FALSE(exec_of(R"({"shell":"x"})")->order.limits.retained.named);
  EXPECT_EQ(exec_of(R"({"shell":"x","limits":{"memory":"1g"}})").error().code(), Code::Unsupported);
}

TEST(Signals, HaveNamesAndNumbers) {
  EXPECT_EQ(parse_signal("TERM"), SIGTERM);
  EXPECT_EQ(parse_signal("SIGINT"), SIGINT);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  for (const char* text : {"", "NONSENSE", "0", "1000", "term", "-9"}) EXPECT_FALSE(parse_signal(text)) << text;
  Json json = json_of(R"({"signal":10,"group":true})");
  Fields fields(json);
  auto request = take_signal(fields);
  EXPECT_EQ(request->number, 10);
  EXPECT_TRUE(request->group);
}

TEST(Names, HaveAForm) {
  EXPECT_TRUE(check_name("a_B-9.x"));
  for (const char* text : {"", "-a", "a b", "ä"}) EXPECT_FALSE(check_name(text)) << text;
  EXPECT_FALSE(check_name(std::string(64, 'a')));
  EXPECT_TRUE(check_project("web-1"));
  for (const char* text : {"", "-a", "Web", "a_b"}) EXPECT_FALSE(check_project(text)) << text;
  for (const char* text : {"root", "1000", "1000:1000", "_apt"}) EXPECT_TRUE(check_user(text)) << text;
  for (const char* text : {"", "1:2:3", "a:b", "4294967295", "+5", "x y"}) EXPECT_FALSE(check_user(text)) << text;
}

}  // namespace
}  // namespace cove::api
