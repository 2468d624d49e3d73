// Sandboxes that are kept ready: each is handed out once, and is as one that was just made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "integration/pooled_server.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

constexpr const char* kLookAround = R"(
env | sort; id; hostname; pwd; umask; ulimit -a; cat /etc/machine-id 2>&1
for folder in / /tmp /var/tmp /home/user /run /dev/shm /workspace; do (cd $folder && pwd && stat -c '%A %U %G %N' .* * 2>&1); done
ps -e -o user=,args= | grep -v 'ps -e\|grep -v'
cut -d' ' -f4- /proc/self/mountinfo | sed 's/[0-9]*:[0-9]* //' | sort | cut -d' ' -f1-4
grep -E '^(Uid|Gid|Groups|Sig|Shd|Cap|NoNew|Seccomp:|Umask)' /proc/self/status
ls -l /proc/self/fd | wc -l; cat /proc/self/cgroup; stat -c '%a %U %G %n' /tmp /home/user /dev/stdin /dev/stdout
nice; cat /proc/self/oom_score_adj /proc/self/loginuid
)";

TEST(Pool, HandsOutWhatIsReady) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  std::string id = server.make();
  EXPECT_EQ(server.metric("cove_pool_taken_total"), 1);
  EXPECT_EQ(text_of(server.run(id, {{"argv", {"echo", "hi"}}})), "hi\n");
  EXPECT_EQ(text_of(server.run(id, {{"shell", "echo again"}})), "again\n");
}

TEST(Pool, ForgetsWhatWaitedWhenASandboxStops) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  std::string id = server.make();
  EXPECT_EQ(server.call("POST", "/v1/sandboxes/" + id + "/stop", json::object()).status, 200);
  EXPECT_EQ(server.call("POST", "/v1/sandboxes/" + id + "/start").status, 200);
  EXPECT_EQ(text_of(server.run(id, {{"argv", {"echo", "hi"}}})), "hi\n");
}

TEST(Pool, GivesTheFirstExecTheLimitsOfNow) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  std::string id = server.make();
  EXPECT_EQ(server.metric("cove_pool_taken_total"), 1);
  EXPECT_EQ(server.call("PATCH", "/v1/sandboxes/" + id, {{"limits", {{"open_files", 64}}}}).status, 200);
  EXPECT_EQ(text_of(server.run(id, {{"shell", "ulimit -n"}})), "64\n");
}

TEST(Pool, GivesEachToOneOnly) {
  PooledServer server(8);
  ASSERT_TRUE(server.wait_for_ready(8));
  std::vector<std::string> ids(24);
  std::vector<std::thread> callers;
  for (std::string& id : ids) callers.emplace_back([&] { id = server.make({{"limits", {{"memory", "64m"}}}}); });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) server.run(ids[i], {{"shell", "echo " + std::to_string(i) + " > /tmp/mine"}});
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(text_of(server.run(ids[i], {{"argv", {"cat", "/tmp/mine"}}})), std::to_string(i) + "\n");
}

TEST(Pool, CannotBeToldFromACold) {
  PooledServer cold(0), warm(4);
  ASSERT_TRUE(cold.running() && warm.wait_for_ready(4));
  std::string before = without_names(text_of(cold.run_once({{"shell", kLookAround}})));
  ASSERT_THAT(before, HasSubstr("uid=1000(user)"));
  EXPECT_EQ(without_names(text_of(warm.run_once({{"shell", kLookAround}}))), before);
  EXPECT_EQ(warm.metric("cove_pool_taken_total"), 1);
  // Also where an interpreter had been waiting in it that nobody wants.
  ASSERT_TRUE(warm.expect_use("python", 4));
  constexpr const char* kUntilItIsGone = "while ps -e -o args= | grep -q '[p]ython3 /tmp/cove-'; do sleep 0.01; done\n";
  EXPECT_EQ(without_names(text_of(warm.run_once({{"shell", std::string(kUntilItIsGone) + kLookAround}}))), before);
  EXPECT_EQ(text_of(cold.run_once({{"shell", "cat"}, {"stdin", "given"}})),
            text_of(warm.run_once({{"shell", "cat"}, {"stdin", "given"}})));
}

TEST(Pool, KeepsSandboxesOfOtherLimitsReadyWhereTheyAreAskedFor) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  json wanted = {{"limits", {{"memory", "96m"}, {"processes", 50}}}};
  server.make(wanted);
  EXPECT_EQ(server.metric("cove_pool_missed_total"), 1);
  ASSERT_TRUE(server.wait_for_ready(5));
  const std::string last = server.make(wanted);
  EXPECT_EQ(server.metric("cove_pool_taken_total"), 1);
  json info = server.call("GET", "/v1/sandboxes/" + last).json();
  EXPECT_EQ(info["enforced"]["memory"]["value"], "96 MiB");
  EXPECT_EQ(info["enforced"]["processes"]["value"], "50");
}

TEST(Pool, RunsPythonThatWaited) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  ASSERT_TRUE(server.expect_use("python", 4));
  constexpr const char* kCode = R"(import os, sys
print(sys.argv == [__file__], os.listdir("/tmp") == [os.path.basename(__file__)], open(__file__).read()[:6])
print(os.getcwd(), sys.stdin.read() == "", __name__)
1/0)";
  json result = server.run_once({{"language", "python"}, {"code", kCode}});
  EXPECT_THAT(text_of(result), HasSubstr("True True import\n/home/user True __main__\n"));
  EXPECT_THAT(text_of(result), HasSubstr("line 4, in <module>\n    1/0\n"));
  EXPECT_EQ(result["exit_code"], 1);
}

TEST(Pool, HasAnInterpreterReadyForEachSingleCall) {
  PooledServer server(4);
  const json code = {{"language", "python"}, {"code", "print(1)"}};
  for (long calls = 1; calls <= 3; ++calls) {
    ASSERT_TRUE(server.wait_for_ready(4));
    EXPECT_EQ(text_of(server.call("POST", "/v1/execute", code).json()), "1\n");
    EXPECT_EQ(server.metric("cove_pool_interpreters_total"), calls);
  }
}

TEST(Pool, RunsWhatAWaitingInterpreterCannot) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  ASSERT_TRUE(server.expect_use("python", 4));
  auto python = [&](const std::string& code, json more = json::object()) {
    json body = {{"language", "python"}, {"code", code}};
    body.update(more);
    return text_of(server.run_once(body));
  };
  EXPECT_EQ(python("import os; print(os.environ['A'])", {{"env", {{"A", "b"}}}}), "b\n");
  EXPECT_EQ(python("print(input())", {{"stdin", "typed"}}), "typed\n");
  EXPECT_EQ(python("import os; print(os.getcwd())", {{"cwd", "/tmp"}}), "/tmp\n");
  EXPECT_EQ(python("import os; print(os.getuid())", {{"user", "root"}}), "0\n");
  EXPECT_EQ(python("# -*- coding: latin-1 -*-\nprint(1)"), "1\n");
  EXPECT_EQ(python("x = '" + std::string(100'000, 'x') + "'\nprint(len(x))"), "100000\n");
  EXPECT_EQ(text_of(server.run_once({{"language", "javascript"}, {"code", "console.log(__filename.slice(-3))"}})),
            ".js\n");
}

// An interpreter that waits has looked at these already.
TEST(Pool, SeesFilesThatWereThereBeforeTheFirstSnippet) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  ASSERT_TRUE(server.expect_use("python", 4));
  std::string where =
      text_of(server.run_once({{"language", "python"}, {"code", "import site; print(site.getusersitepackages())"}}));
  where.pop_back();
  std::string fresh = server.make();
  long waited = server.metric("cove_pool_interpreters_total");
  HttpResponse put = server.put(fresh, where + "/foo.py", "x = 5");
  ASSERT_LT(put.status, 300) << put.body;
  EXPECT_EQ(text_of(server.run(fresh, {{"language", "python"}, {"code", "import foo; print(foo.x)"}})), "5\n");
  EXPECT_EQ(server.metric("cove_pool_interpreters_total"), waited);
  // Others change nothing for it.
  ASSERT_TRUE(server.wait_for_ready(4));
  std::string other = server.make();
  ASSERT_LT(server.put(other, "/home/user/data/table.csv", "1,2").status, 300);
  EXPECT_EQ(text_of(server.run(other, {{"language", "python"}, {"code", "print(open('data/table.csv').read())"}})),
            "1,2\n");
  EXPECT_EQ(server.metric("cove_pool_interpreters_total"), waited + 1);
}

TEST(Pool, RunsCommandsOfAnyLengthAsAnOldSandboxDoes) {
  PooledServer server(4);
  ASSERT_TRUE(server.wait_for_ready(4));
  const std::string old = server.make();
  server.run(old, {{"argv", {"true"}}});
  auto run_both = [&](const json& body) {
    json warm = server.run_once(body), cold = server.run(old, body);
    EXPECT_EQ(warm["exit_code"], cold["exit_code"]) << warm << cold;
    EXPECT_EQ(text_of(warm), text_of(cold));
    return warm;
  };
  for (size_t length : {40'000, 44'900, 48'000, 49'000, 60'000, 120'000}) {
    const std::string longs(length, 'x');
    const std::string told = std::to_string(length) + "\n";
    EXPECT_EQ(text_of(run_both({{"shell", "echo ${#A}"}, {"env", {{"A", longs}}}})), told);
    EXPECT_EQ(text_of(run_both({{"shell", "echo " + std::to_string(length) + " # " + longs}})), told);
  }
  json words = {"sh", "-c", "echo $#", "sh"};
  for (int i = 0; i < 20'000; ++i) words.push_back("word");
  EXPECT_EQ(text_of(run_both({{"argv", words}})), "20000\n");
  EXPECT_EQ(run_both({{"argv", {"echo", std::string(200'000, 'x')}}})["exit_code"], 126);
  json once = {{"shell", "echo ${#A}"}, {"env", {{"A", std::string(60'000, 'x')}}}};
  EXPECT_EQ(text_of(server.call("POST", "/v1/execute", once).json()), "60000\n");
}

// So small a share is refused when the walls rise already.
TEST(Pool, WhatCannotBeMadeKeepsNobodyWaiting) {
  PooledServer server({"--pool-size", "4", "--limits-cpus", "0.0001"});
  ASSERT_TRUE(server.running());
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    HttpResponse refused = server.call("POST", "/v1/sandboxes", json::object());
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("create the control group"));
    std::string id = server.make({{"limits", {{"cpus", 1}}}});
    EXPECT_EQ(text_of(server.run(id, {{"argv", {"echo", "hi"}}})), "hi\n");
  }
  // Each that waited for an answer that cannot come would have waited 5 s, and all the others behind it.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(Pool, IsGoneWithTheServer) {
  PooledServer server(3);
  ASSERT_TRUE(server.wait_for_ready(2));
  const std::string run = server.folder() + "/state/run";
  EXPECT_EQ(server.stop(), 0);
  EXPECT_EQ(std::system(("test -z \"$(ls " + run + " | grep -v api.sock)\"").c_str()), 0);
  EXPECT_NE(std::system(("grep -q ' " + run + "/[a-z0-9]\\{20\\}' /proc/net/unix").c_str()), 0);
}

}  // namespace
}  // namespace cove::test
