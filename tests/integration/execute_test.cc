// Everything in one call: what goes in, what comes out, and what is left.
#include <thread>

#include "base/encoding.h"
#include "integration/api_fixture.h"

namespace cove::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Execute : public WithServer<Execute> {
 public:
  static std::vector<std::string> arguments() { return {"--limits-memory", "256m"}; }

 protected:
  void TearDown() override {
    if (server_ && server_->running()) remove_all();
  }
  static std::vector<std::string> paths(const json& result) {
    std::vector<std::string> all;
    for (const json& file : result["files"]) all.push_back(file["path"]);
    return all;
  }
  static HttpStream streamed(const json& body) {
    return HttpStream(server_->socket(), {"POST", "/v1/execute", {{"accept", "text/event-stream"}}, body.dump()});
  }
  static std::string left_out(const json& result) { return result["denials"].dump(); }
  static bool nothing_is_left() {
    return comes_true([] { return count_sandboxes() == 0; });
  }
};

TEST_F(Execute, RunsCodeInASandboxThatGoesAfterwards) {
  json result = execute({{"language", "python"}, {"code", "print(6*7)"}});
  EXPECT_EQ(result["stdout"]["text"], "42\n");
  EXPECT_EQ(result["status"], "success");
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_THAT(result["why"], HasSubstr("mode all"));
  EXPECT_THAT(result["why"], HasSubstr("exit code 0"));
  EXPECT_THAT(result["results"], IsEmpty());
  EXPECT_EQ(execute({{"shell", "echo $A; pwd; cat; exit 3"},
                     {"env", {{"A", "1"}}},
                     {"cwd", "/tmp"},
                     {"stdin", "in"}})["stdout"]["text"],
            "1\n/tmp\nin");
  EXPECT_EQ(execute({{"argv", {"/no/such"}}})["exit_code"], 127);
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, TakesFilesInAndGivesNewOnesBack) {
  json result = execute({{"shell",
                          "sort in/data.csv > sorted.csv; printf '\\377' > raw; mkdir -p deep/er; echo 1 > deep/er/x; "
                          "echo more >> in/grows; echo hidden > .hidden; cat in/data.csv > /tmp/elsewhere"},
                         {"files",
                          {{{"path", "in/data.csv"}, {"text", "b\na\n"}},
                           {{"path", "in/grows"}, {"base64", "AAE="}},
                           {{"path", "/tmp/abs"}, {"text", ""}}}}});
  ASSERT_EQ(result["status"], "success") << result;
  EXPECT_THAT(paths(result), ElementsAre("deep/er/x", "in/grows", "raw", "sorted.csv"));
  EXPECT_EQ(result["files"][3], json({{"path", "sorted.csv"}, {"bytes", 4}, {"text", "a\nb\n"}, {"truncated", false}}));
  EXPECT_EQ(result["files"][2]["base64"], "/w==");
  EXPECT_EQ(result["files"][1]["text"], std::string("\0\1more\n", 7));
}

TEST_F(Execute, GivesWhatIsNamed) {
  const char* script =
      "mkdir out; echo 1 > out/a.csv; echo 2 > out/b.csv; echo 3 > out/c.txt; echo 4 > .rc; echo 5 > other";
  json result = execute({{"shell", script}, {"outputs", {"out/*.csv", ".rc", "none*"}}});
  EXPECT_THAT(paths(result), ElementsAre("out/a.csv", "out/b.csv", ".rc"));
  EXPECT_THAT(left_out(result), HasSubstr("none*"));
  EXPECT_THAT(paths(execute({{"shell", script}, {"outputs", {"out"}}})),
              ElementsAre("out/a.csv", "out/b.csv", "out/c.txt"));
  EXPECT_THAT(paths(execute({{"shell", script}, {"outputs", {"out/{a,c}.*", "out/a.csv"}}})),
              ElementsAre("out/a.csv", "out/c.txt"));
  EXPECT_THAT(paths(execute({{"shell", script}, {"outputs", json::array()}})), IsEmpty());
}

TEST_F(Execute, FollowsNoLinks) {
  const char* script =
      "ln -s /etc/passwd link; ln -s /etc folder; ln -s /proc/1/root root; mkfifo pipe; ln -s loop loop; echo plain > "
      "plain; "
      "ln plain hard";
  json result = execute({{"shell", script}});
  EXPECT_THAT(paths(result), ElementsAre("hard", "plain"));
  result = execute({{"shell", script}, {"outputs", {"*", "folder/*", "root/etc/*", "loop/x"}}});
  EXPECT_THAT(paths(result), ElementsAre("hard", "plain"));
  EXPECT_THAT(left_out(result), HasSubstr("it is a link"));
  EXPECT_THAT(left_out(result), HasSubstr("behind a link"));
  EXPECT_THAT(left_out(result), HasSubstr("neither a file nor a folder"));
}

TEST_F(Execute, BoundsWhatItGives) {
  json result = execute({{"shell",
                          "for i in $(seq -w 9); do head -c 1048576 /dev/zero | tr '\\0' x > m$i; done; "
                          "head -c 1048575 /dev/zero | tr '\\0' y > big; printf 'ü-rest' >> big"}});
  ASSERT_EQ(result["files"].size(), 10u);
  EXPECT_EQ(result["files"][0]["path"], "big");
  EXPECT_EQ(result["files"][0]["bytes"], 1048575 + 7);
  EXPECT_EQ(result["files"][0]["truncated"], true);
  EXPECT_EQ(result["files"][0]["text"].get<std::string>().size(), 1048575u) << "half a character is left out";
  EXPECT_EQ(result["files"][1]["truncated"], false);
  EXPECT_EQ(result["files"][9]["truncated"], true) << "8 MiB in all";
  EXPECT_EQ(result["files"][9]["text"], "");
  EXPECT_EQ(result["files"][9]["bytes"], 1048576);
  result = execute({{"shell", "for i in $(seq 250); do echo $i > f$i; done"}});
  EXPECT_EQ(result["files"].size(), 100u);
  EXPECT_THAT(left_out(result), HasSubstr("150 more files"));
  result = execute({{"shell", "mkdir d; cd d; seq 12000 | xargs touch"}});
  EXPECT_EQ(result["files"].size(), 0u);
  EXPECT_THAT(left_out(result), HasSubstr("10000 entries"));
}

TEST_F(Execute, HoldsLimits) {
  json result = execute({{"shell", "echo begun > note; sleep 100"}, {"timeout", "500ms"}});
  EXPECT_EQ(result["status"], "timeout");
  EXPECT_THAT(result["why"], HasSubstr("timed out after 500ms"));
  EXPECT_THAT(paths(result), ElementsAre("note"));
  result = execute({{"argv", {"true"}}, {"limits", {{"memory", "100m"}, {"processes", 50}}}});
  EXPECT_EQ(result["limits"]["memory"]["value"], "100 MiB");
  EXPECT_EQ(result["limits"]["processes"]["value"], "50");
  EXPECT_EQ(execute({{"argv", {"yes"}}, {"limits", {{"output", 10000}}}})["status"], "limit_exceeded");
}

TEST_F(Execute, SaysWhatIsWrong) {
  for (const json& body : std::vector<json>{json::object(),
                                            {{"argv", json::array()}},
                                            {{"argv", {"x"}}, {"code", "x"}, {"language", "python"}},
                                            {{"argv", {"x"}}, {"shell", "x"}},
                                            {{"code", "x"}},
                                            {{"argv", {"x"}}, {"outputs", {"/etc/passwd"}}},
                                            {{"argv", {"x"}}, {"outputs", {"../x"}}},
                                            {{"argv", {"x"}}, {"outputs", {"[x"}}},
                                            {{"argv", {"x"}}, {"outputs", {""}}},
                                            {{"argv", {"x"}}, {"files", {{{"path", "x"}}}}},
                                            {{"argv", {"x"}}, {"files", {{{"path", "x"}, {"base64", "?"}}}}},
                                            {{"argv", {"x"}}, {"scope", "agent"}},
                                            {{"argv", {"x"}}, {"agent", "a"}, {"name", "x"}},
                                            {{"argv", {"x"}}, {"command", {"x"}}},
                                            {{"argv", {"x"}}, {"pty", {{"rows", 1}, {"cols", 1}}}},
                                            {{"argv", {"x"}}, {"stdin", {{"open", true}}}},
                                            {{"argv", {"x"}}, {"mode", "loose"}}})
    expect_refusal(post("/v1/execute", body), 400, "invalid");
  HttpResponse typo = post("/v1/execute", {{"argv", {"x"}}, {"otputs", {"*"}}});
  expect_refusal(typo, 400, "invalid");
  EXPECT_THAT(typo.json()["hint"], HasSubstr("outputs"));
  expect_refusal(post("/v1/execute", {{"argv", {"x"}}, {"session", "unknown"}}), 404, "not_found");
  expect_refusal(post("/v1/execute", {{"argv", {"x"}}, {"image", "none"}}), 404, "not_found");
  expect_refusal(
      post("/v1/execute", {{"argv", {"x"}}, {"files", {{{"path", "x"}, {"text", std::string(5 << 20, 'x')}}}}}), 413,
      "too_large");
  expect_refusal(post("/v1/execute", {{"argv", {"x"}}, {"files", {{{"path", "/etc/x"}, {"text", ""}}}}}), 403,
                 "denied");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, UsesTheSandboxOfASessionAnAgentOrAll) {
  std::string id = start({{"env", {{"A", "session"}}}});
  json first = execute({{"session", id}, {"shell", "echo $A > note"}});
  EXPECT_THAT(paths(first), ElementsAre("note"));
  json second = execute({{"session", id}, {"shell", "cat note; echo $A"}, {"env", {{"A", "call"}}}});
  EXPECT_EQ(second["stdout"]["text"], "session\ncall\n");
  EXPECT_EQ(second["sandbox_id"], first["sandbox_id"]);
  EXPECT_THAT(paths(second), IsEmpty()) << "only what is new";
  EXPECT_EQ(call("GET", "/v1/sessions/" + id + "/execs").json()["items"].size(), 2u);
  expect_refusal(post("/v1/execute", {{"session", id}, {"argv", {"x"}}, {"agent", "a"}}), 400, "invalid");
  expect_refusal(post("/v1/execute", {{"session", id}, {"argv", {"x"}}, {"limits", {{"memory", "1g"}}}}), 422,
                 "unsupported");
  call("DELETE", "/v1/sessions/" + id);
  expect_refusal(post("/v1/execute", {{"session", id}, {"argv", {"x"}}}), 409, "conflict");

  json agent = execute({{"agent", "bot"}, {"shell", "echo kept > note"}});
  EXPECT_EQ(execute({{"agent", "bot"}, {"shell", "cat note"}})["stdout"]["text"], "kept\n");
  EXPECT_EQ(execute({{"agent", "bot"}, {"scope", "session"}, {"shell", "ls"}})["stdout"]["text"], "")
      << "for this call alone";
  std::string with_session = start({{"agent", "bot"}, {"scope", "agent"}});
  EXPECT_EQ(text_in(with_session, "cat note"), "kept\n");
  json shared = execute({{"scope", "shared"}, {"shell", "echo all > note"}});
  EXPECT_EQ(execute({{"scope", "shared"}, {"agent", "another"}, {"shell", "cat note"}})["stdout"]["text"], "all\n");
  EXPECT_NE(shared["sandbox_id"], agent["sandbox_id"]);
  EXPECT_TRUE(comes_true([] { return count_sandboxes() == 2; }));
}

TEST_F(Execute, WorksOnAWorkspace) {
  std::string folder = server_->folder() + "/work";
  ::mkdir(folder.c_str(), 0755);
  json result = execute({{"shell", "pwd; echo made > made"},
                         {"workspace", {{"path", folder}, {"access", "rw"}}},
                         {"files", {{{"path", "given"}, {"text", "x"}}}}});
  EXPECT_EQ(result["stdout"]["text"], "/workspace\n");
  EXPECT_THAT(paths(result), ElementsAre("made"));
  EXPECT_EQ(::access((folder + "/given").c_str(), F_OK), 0);
  expect_refusal(post("/v1/execute", {{"argv", {"true"}}, {"workspace", {{"path", folder + "/none"}}}}), 404,
                 "not_found");
  expect_refusal(over_tcp("/v1/execute", {{"argv", {"true"}}, {"workspace", {{"path", folder}}}}), 403, "denied");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, EndsWithItsCaller) {
  {
    PendingRequest caller(server_->socket(),
                          {"POST", "/v1/execute", {}, R"({"shell":"exec sleep 97531","outputs":[]})"});
    ASSERT_TRUE(comes_true([] { return count_sandboxes() == 1; }));
    ASSERT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97531"}).exit_code == 0; }));
    caller.hang_up();
  }
  EXPECT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97531"}).exit_code != 0; }));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, StreamsItsOutputThenItsResult) {
  HttpStream stream = streamed({{"shell", "echo out; echo err >&2; echo made > file; exit 3"}, {"name", "streamed"}});
  ASSERT_EQ(stream.status(), 200);
  auto start = stream.next_event();
  ASSERT_TRUE(start);
  EXPECT_EQ(start->name, "start");
  EXPECT_EQ(start->id, "");
  std::string out, err;
  uint64_t seq = 0;
  auto event = stream.next_event();
  for (; event && event->name != "exit"; event = stream.next_event()) {
    EXPECT_EQ(event->data["seq"], ++seq);
    (event->name == "stdout" ? out : err) += event->data["text"];
  }
  EXPECT_EQ(out, "out\n");
  EXPECT_EQ(err, "err\n");
  ASSERT_TRUE(event);
  // Whoever has seen the end can use the name again.
  EXPECT_EQ(count_sandboxes(), 0u);
  const json& result = event->data["result"];
  EXPECT_EQ(event->data["seq"], seq + 1);
  EXPECT_EQ(result["exit_code"], 3);
  EXPECT_EQ(result["exec_id"], start->data["exec_id"]);
  EXPECT_EQ(result["sandbox_id"], start->data["sandbox_id"]);
  EXPECT_THAT(paths(result), ElementsAre("file"));
  EXPECT_FALSE(stream.next_event());
  EXPECT_TRUE(stream.whole());
}

TEST_F(Execute, AStreamTakesInputAndSignals) {
  HttpStream stream = streamed({{"shell", "trap 'echo told; exit 4' USR1; tty; cat; while :; do sleep 0.1; done"},
                                {"stdin", {{"open", true}}},
                                {"outputs", json::array()}});
  json start = stream.next_event()->data;
  std::string exec =
      "/v1/sandboxes/" + start["sandbox_id"].get<std::string>() + "/execs/" + start["exec_id"].get<std::string>();
  EXPECT_EQ(stream.next_event()->data["text"], "not a tty\n");
  EXPECT_EQ(fetch(server_->socket(), {"POST", exec + "/stdin?close=true", {}, "typed\n"}).status, 204);
  EXPECT_EQ(stream.next_event()->data["text"], "typed\n");
  EXPECT_EQ(post(exec + "/signal", {{"signal", "USR1"}}).status, 204);
  EXPECT_EQ(stream.next_event()->data["text"], "told\n");
  EXPECT_EQ(stream.next_event()->data["result"]["exit_code"], 4);
}

TEST_F(Execute, AStreamEndsWithItsCaller) {
  HttpStream stream = streamed({{"shell", "echo up; exec sleep 97532"}, {"name", "left"}, {"outputs", json::array()}});
  EXPECT_EQ(stream.next_event()->name, "start");
  EXPECT_EQ(stream.next_event()->name, "stdout");
  expect_refusal(post("/v1/execute", {{"argv", {"true"}}, {"name", "left"}}), 409, "exists");
  stream.close();
  EXPECT_TRUE(comes_true([] { return test::run({"pgrep", "-f", "sleep 97532"}).exit_code != 0; }));
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(execute({{"argv", {"true"}}, {"name", "left"}})["exit_code"], 0);
}

TEST_F(Execute, MakesTheSandboxAsAskedFor) {
  EXPECT_EQ(execute({{"shell", "id -un; hostname"}, {"user", "root"}, {"name", "asked"}})["stdout"]["text"],
            "root\nasked\n");
  EXPECT_EQ(execute({{"command", {"echo", "one"}}})["stdout"]["text"], "one\n");
  EXPECT_EQ(execute({{"entrypoint", {"echo", "-n"}}, {"command", {"one"}}})["stdout"]["text"], "one");
  expect_refusal(post("/v1/execute", {{"command", json::array()}}), 400, "invalid");
  EXPECT_EQ(execute({{"argv", {"true"}}})["limits"]["disk"], json({{"value", "1 GiB"}, {"enforced_by", "tmpfs"}}));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, ManyAtOnceAreApart) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i)
    threads.emplace_back([i] {
      std::string number = std::to_string(i);
      json result =
          execute({{"shell", "ls > seen; cat seen in-*"}, {"files", {{{"path", "in-" + number}, {"text", number}}}}});
      EXPECT_EQ(result["stdout"]["text"], "in-" + number + "\nseen\n" + number);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(Execute, ACallThatIsCutOffLeavesNothing) {
  for (const char* point : {"engine.create.acknowledged", "engine.exec.recorded", "engine.exec.ended"}) {
    SCOPED_TRACE(point);
    ASSERT_EQ(server_->stop(), 0);
    server_->start_again(point);
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(post("/v1/execute", {{"argv", {"true"}}}).status, 0) << "the server was to be killed";
    server_->wait();
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_TRUE(comes_true([] { return count_sandboxes() == 0; }, std::chrono::seconds(120)));
  }
}

TEST_F(Execute, CodeFindsTheFilesThatCameWithIt) {
  json result = execute({{"language", "python"},
                         {"code", "import helper, os\nprint(helper.x, os.getcwd())\nopen('made', 'w').write('1')"},
                         {"files", {{{"path", "helper.py"}, {"text", "x = 5"}}}}});
  EXPECT_EQ(result["stdout"]["text"], "5 /home/user\n") << result.dump();
  for (const json& file : result["files"])
    EXPECT_THAT(file["path"].get<std::string>(), testing::Not(HasSubstr(".cove-")));
  EXPECT_THAT(result["files"].dump(), HasSubstr("\"made\""));
  if (std::system("command -v node >/dev/null") == 0) {
    json script = execute({{"language", "javascript"},
                           {"code", "console.log(require('./helper.js').x)"},
                           {"files", {{{"path", "helper.js"}, {"text", "exports.x = 6"}}}}});
    EXPECT_EQ(script["stdout"]["text"], "6\n") << script.dump();
  }
  expect_refusal(post("/v1/execute", {{"shell", "true"}, {"session", ""}}), 400, "invalid");
}

}  // namespace
}  // namespace cove::test
