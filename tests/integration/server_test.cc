// The server's API as its callers meet it: every endpoint, and what goes wrong at each.
#include "support/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/encoding.h"
#include "support/child.h"

namespace cove::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

class Server : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new ServerUnderTest(); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override { ASSERT_TRUE(server_->running()) << server_->said(); }
  void TearDown() override {
    for (const std::string& id : made_) call("DELETE", "/v1/sandboxes/" + id);
  }

  static const Endpoint& socket() { return server_->socket(); }
  static const Endpoint& tcp() { return server_->tcp(); }

  static HttpResponse call(const std::string& method, const std::string& target, const std::string& body = "",
                           HeaderMap headers = {}) {
    return fetch(socket(), {method, target, std::move(headers), body});
  }
  static HttpResponse post(const std::string& target, const json& body) {
    return call("POST", target, body.dump(), {{"content-type", "application/json"}});
  }
  static HttpResponse over_tcp(const std::string& method, const std::string& target, HeaderMap headers,
                               const std::string& body = "") {
    return fetch(tcp(), {method, target, std::move(headers), body});
  }
  static HeaderMap bearer(const std::string& secret) { return {{"authorization", "Bearer " + secret}}; }

  // A sandbox, gone after the test; the path of it.
  std::string make(const json& body = json::object()) {
    HttpResponse response = post("/v1/sandboxes", body);
    EXPECT_EQ(response.status, 201) << response.body;
    std::string id = response.json().value("id", "none");
    made_.push_back(id);
    return "/v1/sandboxes/" + id;
  }

  static json run(const std::string& sandbox, const json& body) {
    HttpResponse response = post(sandbox + "/execs?wait=true", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  // An exec that goes on by itself; the path of it.
  static std::string start(const std::string& sandbox, const json& body) {
    HttpResponse response = post(sandbox + "/execs", body);
    EXPECT_EQ(response.status, 201) << response.body;
    return response.headers["location"];
  }
  static std::string make_key(const std::vector<std::string>& scopes) {
    return post("/v1/keys", {{"name", "test"}, {"scopes", scopes}}).json().value("key", "");
  }

  static ServerUnderTest* server_;
  std::vector<std::string> made_;
};
ServerUnderTest* Server::server_ = nullptr;

void expect_problem(const HttpResponse& response, int status, const std::string& code) {
  EXPECT_EQ(response.status, status) << response.body;
  auto type = response.headers.find("content-type");
  EXPECT_TRUE(type != response.headers.end() && type->second == "application/problem+json");
  json problem = response.json();
  ASSERT_TRUE(problem.is_object()) << response.body;
  EXPECT_EQ(problem["code"], code) << response.body;
  EXPECT_EQ(problem["status"], status);
  EXPECT_EQ(problem["type"], "about:blank");
  EXPECT_NE(problem["detail"], "");
}

// --- sessions --------------------------------------------------------------------------------------------------------

TEST_F(Server, SessionsHaveASandboxOfTheirOwn) {
  json first = post("/v1/sessions", {{"agent", "one"}}).json(),
       second = post("/v1/sessions", {{"agent", "two"}}).json();
  ASSERT_EQ(first["state"], "active");
  EXPECT_TRUE(first["sandbox_id"].is_null());
  auto in = [&](const json& session, const std::string& shell) {
    HttpResponse response = post("/v1/execute", {{"session", session["id"]}, {"shell", shell}});
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  };
  json made = in(first, "echo secret > note; ls");
  EXPECT_EQ(made["where"], "sandbox");
  EXPECT_EQ(made["files"][0]["path"], "note");
  EXPECT_EQ(in(first, "cat note")["stdout"]["text"], "secret\n");
  EXPECT_EQ(in(second, "ls")["stdout"]["text"], "");
  for (const json& session : {first, second}) {
    std::string id = session["id"].get<std::string>();
    std::string sandbox = call("GET", "/v1/sessions/" + id).json()["sandbox_id"].get<std::string>();
    EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status / 100, 2);
    EXPECT_EQ(post("/v1/execute", {{"session", id}, {"shell", "true"}}).status, 409);
    EXPECT_EQ(call("GET", "/v1/sandboxes/" + sandbox).status, 404);
  }
}

TEST_F(Server, AgentsAndAllShareTheirSandboxes) {
  auto execute = [](json body) {
    HttpResponse response = post("/v1/execute", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  };
  json agent = execute({{"agent", "bot"}, {"scope", "agent"}, {"shell", "echo kept > note"}});
  made_.push_back(agent["sandbox_id"]);
  EXPECT_EQ(execute({{"agent", "bot"}, {"scope", "agent"}, {"shell", "cat note"}})["stdout"]["text"], "kept\n");
  json shared = execute({{"scope", "shared"}, {"shell", "echo all > note"}});
  made_.push_back(shared["sandbox_id"]);
  EXPECT_EQ(execute({{"scope", "shared"}, {"shell", "cat note"}})["stdout"]["text"], "all\n");
  EXPECT_NE(agent["sandbox_id"], shared["sandbox_id"]);
}

TEST_F(Server, ExecutesInOneCall) {
  HttpResponse response =
      post("/v1/execute", {{"language", "python"},
                           {"code", "print(open('in.txt').read()); open('out.txt', 'w').write('made')"},
                           {"files", {{{"path", "in.txt"}, {"text", "given"}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  json result = response.json();
  EXPECT_EQ(result["stdout"]["text"], "given\n");
  ASSERT_EQ(result["files"].size(), 1u) << response.body;
  EXPECT_EQ(result["files"][0]["path"], "out.txt");
  EXPECT_EQ(result["files"][0]["text"], "made");
  EXPECT_EQ(post("/v1/execute", {{"argv", {"true"}}, {"mode", "off"}}).status, 403);
  EXPECT_EQ(post("/v1/execute", {{"session", "nosuchthing000000000"}, {"argv", {"true"}}}).status, 404);
}

// --- sandboxes -------------------------------------------------------------------------------------------------------

TEST_F(Server, MakesListsAndDeletesSandboxes) {
  HttpResponse made = post("/v1/sandboxes", {{"name", "alpha"}, {"labels", {{"team", "web"}}}, {"env", {{"A", "1"}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  json sandbox = made.json();
  std::string id = sandbox["id"];
  EXPECT_EQ(made.headers["location"], "/v1/sandboxes/" + id);
  EXPECT_EQ(sandbox["state"], "running");
  EXPECT_EQ(call("GET", "/v1/sandboxes/alpha").json()["id"], id);
  EXPECT_EQ(call("GET", "/v1/sandboxes?label=team%3Dweb").json()["sandboxes"].size(), 1u);
  EXPECT_EQ(call("GET", "/v1/sandboxes?label=team%3Dapi").json()["sandboxes"].size(), 0u);
  expect_problem(post("/v1/sandboxes", {{"name", "alpha"}, {"start", false}}), 409, "exists");
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/alpha").status, 204);
  expect_problem(call("GET", "/v1/sandboxes/" + id), 404, "not_found");
  expect_problem(call("DELETE", "/v1/sandboxes/" + id), 404, "not_found");
}

TEST_F(Server, ListsInPages) {
  for (int i = 0; i < 3; ++i) make({{"start", false}, {"labels", {{"page", "1"}}}});
  std::string after;
  size_t seen = 0;
  for (int pages = 0; pages < 4; ++pages) {
    json page = call("GET", "/v1/sandboxes?limit=1&label=page%3D1" + (after.empty() ? "" : "&after=" + after)).json();
    seen += page["sandboxes"].size();
    if (page["next"].is_null()) break;
    after = percent_encode(page["next"].get<std::string>());
  }
  EXPECT_EQ(seen, 3u);
  for (const char* query : {"limit=0", "limit=ten", "state=asleep", "label=novalue", "after=%21"})
    expect_problem(call("GET", std::string("/v1/sandboxes?") + query), 400, "invalid");
}

TEST_F(Server, SaysWhatIsWrongWithARequest) {
  HttpResponse typo = post("/v1/sandboxes", {{"lifecycel", json::object()}});
  expect_problem(typo, 400, "invalid");
  EXPECT_THAT(typo.json()["hint"], HasSubstr("lifecycle"));
  expect_problem(call("POST", "/v1/sandboxes", "{\"a\":"), 400, "invalid");
  expect_problem(post("/v1/sandboxes", {{"snapshot", "x"}}), 501, "unsupported");
  expect_problem(post("/v1/sandboxes", {{"image", "none"}}), 404, "not_found");
  expect_problem(call("POST", "/v1/sandboxes", "{\"a\":\"" + std::string(5 << 20, 'x') + "\"}"), 413, "too_large");
  expect_problem(call("GET", "/v1/nothing"), 404, "not_found");
  HttpResponse wrong = call("PUT", "/v1/sandboxes");
  expect_problem(wrong, 405, "method_not_allowed");
  EXPECT_THAT(wrong.headers["allow"], HasSubstr("POST"));
}

TEST_F(Server, MakesOneSandboxForOneIdempotencyKey) {
  HeaderMap key = {{"idempotency-key", "once-" + std::to_string(::getpid())}};
  HttpResponse first = call("POST", "/v1/sandboxes", R"({"start":false,"labels":{"a":"1"}})", key);
  ASSERT_EQ(first.status, 201) << first.body;
  made_.push_back(first.json()["id"]);
  HttpResponse again = call("POST", "/v1/sandboxes", R"({"labels":{"a":"1"}, "start":false})", key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.json()["id"], first.json()["id"]);
  expect_problem(call("POST", "/v1/sandboxes", R"({"start":false})", key), 409, "conflict");
}

TEST_F(Server, ChangesSandboxes) {
  std::string sandbox = make({{"labels", {{"a", "1"}, {"b", "2"}}}, {"env", {{"A", "1"}}}});
  json changed =
      call("PATCH", sandbox, R"({"labels":{"b":null,"c":"3"},"env":{"A":"2"},"limits":{"memory":"512m"}})").json();
  EXPECT_EQ(changed["labels"], json({{"a", "1"}, {"c", "3"}}));
  EXPECT_EQ(changed["limits"]["memory"], 512 << 20);
  EXPECT_EQ(run(sandbox, {{"shell", "echo $A"}})["stdout"]["text"], "2\n");
  expect_problem(call("PATCH", sandbox, R"({"image":"host"})"), 400, "invalid");
}

TEST_F(Server, LeadsSandboxesThroughTheirStates) {
  std::string sandbox = make();
  auto becomes = [&](const char* verb, const char* state) {
    HttpResponse response = call("POST", sandbox + "/" + verb);
    EXPECT_EQ(response.status, 200) << verb << response.body;
    EXPECT_EQ(response.json()["state"], state) << verb;
  };
  becomes("start", "running");
  becomes("pause", "paused");
  becomes("pause", "paused");
  expect_problem(call("POST", sandbox + "/start"), 409, "conflict");
  expect_problem(post(sandbox + "/execs", {{"argv", {"true"}}}), 409, "conflict");
  becomes("resume", "running");
  becomes("stop", "stopped");
  expect_problem(call("POST", sandbox + "/pause"), 409, "conflict");
  expect_problem(call("GET", sandbox + "/stats"), 409, "conflict");
  becomes("start", "running");
  expect_problem(call("POST", sandbox + "/stop", R"({"grace":"soon"})"), 400, "invalid");
  expect_problem(call("POST", sandbox + "/pause", R"({"x":1})"), 400, "invalid");
  expect_problem(call("POST", sandbox + "/fork"), 501, "unsupported");
}

TEST_F(Server, RenewsAndMeasures) {
  std::string sandbox = make({{"lifecycle", {{"max", "1m"}}}, {"limits", {{"memory", "256m"}}}});
  json renewed = call("POST", sandbox + "/renew", R"({"max":"1h"})").json();
  EXPECT_EQ(renewed["lifecycle"]["max"], 3600);
  run(sandbox, {{"shell", "head -c 1000000 /dev/zero > zeros"}});
  json stats = call("GET", sandbox + "/stats").json();
  EXPECT_EQ(stats["memory_limit"], 256 << 20);
  EXPECT_GE(stats["disk_bytes"], 900'000);
}

// --- execs -----------------------------------------------------------------------------------------------------------

TEST_F(Server, RunsCommandsAndCode) {
  std::string sandbox = make();
  json result = run(sandbox, {{"argv", {"sh", "-c", "echo out; echo err >&2; exit 3"}}});
  EXPECT_EQ(result["status"], "error");
  EXPECT_EQ(result["exit_code"], 3);
  EXPECT_EQ(result["stdout"]["text"], "out\n");
  EXPECT_EQ(result["stderr"]["text"], "err\n");
  EXPECT_EQ(run(sandbox, {{"code", "print(6*7)"}, {"language", "python"}})["stdout"]["text"], "42\n");
  EXPECT_EQ(run(sandbox, {{"argv", {"cat"}}, {"stdin", "hi"}})["stdout"]["text"], "hi");
  EXPECT_EQ(run(sandbox, {{"argv", {"cat"}}})["stdout"]["text"], "");
  EXPECT_EQ(run(sandbox, {{"argv", {"sleep", "60"}}, {"timeout", "100ms"}})["status"], "timeout");
  EXPECT_EQ(run(sandbox, {{"argv", {"/no/such"}}})["exit_code"], 127);
  EXPECT_EQ(run(sandbox, {{"shell", "printf '\\377'"}})["stdout"]["base64"], "/w==");
  expect_problem(post(sandbox + "/execs", json::object()), 400, "invalid");
  expect_problem(post(sandbox + "/execs", {{"code", "x"}, {"language", "pyton"}}), 400, "invalid");
  expect_problem(post(sandbox + "/execs?wait=maybe", {{"shell", "x"}}), 400, "invalid");
}

TEST_F(Server, StreamsOutputWithNumbers) {
  std::string sandbox = make();
  HttpStream stream(socket(), {"POST",
                               sandbox + "/execs",
                               {{"accept", "text/event-stream"}},
                               R"({"shell":"echo out; echo err >&2; exit 2","stdin":null})"});
  EXPECT_EQ(stream.status(), 200);
  std::map<std::string, std::string> text;
  uint64_t seq = 0;
  json exit;
  while (auto event = stream.next_event()) {
    EXPECT_EQ(event->id, std::to_string(++seq));
    EXPECT_EQ(event->data["seq"], seq);
    if (event->name == "exit")
      exit = event->data["result"];
    else
      text[event->name] += event->data["text"];
  }
  EXPECT_TRUE(stream.whole());
  EXPECT_EQ(text["stdout"], "out\n");
  EXPECT_EQ(text["stderr"], "err\n");
  EXPECT_EQ(exit["exit_code"], 2);
}

TEST_F(Server, TakesInputAndGivesOutputAgain) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"argv", {"cat"}}, {"tag", "echo"}});
  EXPECT_EQ(call("GET", exec).json()["state"], "running");
  EXPECT_EQ(call("GET", sandbox + "/execs?tag=echo&state=running").json()["execs"].size(), 1u);
  EXPECT_EQ(call("POST", exec + "/stdin", "raw ", {{"content-type", "text/plain"}}).status, 204);
  EXPECT_EQ(post(exec + "/stdin", {{"base64", "Ynl0ZXMK"}}).status, 204);
  expect_problem(post(exec + "/stdin", {{"text", "a"}, {"base64", "YQ=="}}), 400, "invalid");
  EXPECT_EQ(call("POST", exec + "/stdin?close=true").status, 204);
  HttpStream stream(socket(), {"GET", exec + "/output", {{"accept", "text/event-stream"}}, ""});
  std::string all;
  while (auto event = stream.next_event())
    if (event->name == "stdout") all += event->data["text"];
  EXPECT_EQ(all, "raw bytes\n");
  json output = call("GET", exec + "/output").json();
  EXPECT_EQ(output["ended"], true);
  EXPECT_EQ(output["result"]["status"], "success");
  json rest = call("GET", exec + "/output?from=" + std::to_string(output["next"].get<uint64_t>())).json();
  EXPECT_EQ(rest["chunks"].size(), 0u);
  expect_problem(post(exec + "/stdin", {{"text", "late"}}), 409, "conflict");
  expect_problem(call("GET", exec + "/output?from=0"), 400, "invalid");
  expect_problem(call("GET", sandbox + "/execs/none/output"), 404, "not_found");
}

TEST_F(Server, GivesEveryByteOfLongInput) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"shell", "sleep 1; wc -c"}});
  EXPECT_EQ(call("POST", exec + "/stdin?close=true", std::string(3'000'000, 'x')).status, 204);
  HttpStream stream(socket(), {"GET", exec + "/output", {{"accept", "text/event-stream"}}, ""});
  EXPECT_EQ(stream.next_event()->data["text"], "3000000\n");
}

TEST_F(Server, SignalsResizesAndKills) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"shell", "stty size; read x; stty size"}, {"pty", {{"rows", 30}, {"cols", 90}}}});
  EXPECT_EQ(post(exec + "/resize", {{"rows", 40}, {"cols", 120}}).status, 204);
  EXPECT_EQ(post(exec + "/stdin", {{"text", "\n"}}).status, 204);
  HttpStream stream(socket(), {"GET", exec + "/output", {{"accept", "text/event-stream"}}, ""});
  std::string all;
  while (auto event = stream.next_event())
    if (event->name == "stdout") all += event->data["text"];
  EXPECT_THAT(all, HasSubstr("40 120"));

  std::string plain = start(sandbox, {{"argv", {"sleep", "60"}}});
  expect_problem(post(plain + "/resize", {{"rows", 40}, {"cols", 120}}), 409, "conflict");
  expect_problem(post(plain + "/signal", {{"signal", "NONSENSE"}}), 400, "invalid");
  EXPECT_EQ(post(plain + "/signal", {{"signal", "TERM"}}).status, 204);
  HttpStream end(socket(), {"GET", plain + "/output", {{"accept", "text/event-stream"}}, ""});
  EXPECT_EQ(end.next_event()->data["result"]["signal"], 15);

  std::string killed = start(sandbox, {{"shell", "setsid sleep 61 & sleep 60"}});
  json result = call("DELETE", killed).json();
  EXPECT_EQ(result["status"], "killed");
  EXPECT_EQ(call("DELETE", killed).json(), result);
}

TEST_F(Server, WaitsForAnEndForAWhile) {
  std::string sandbox = make();
  HttpResponse ended = post(sandbox + "/execs?wait=1m", {{"shell", "echo out; exit 3"}});
  EXPECT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(ended.json()["exit_code"], 3);
  EXPECT_EQ(ended.json()["stdout"]["text"], "out\n");
  HttpResponse running = post(sandbox + "/execs?wait=20ms", {{"shell", "sleep 60"}});
  EXPECT_EQ(running.status, 201) << running.body;
  EXPECT_EQ(running.json()["state"], "running");
  EXPECT_EQ(call("DELETE", sandbox + "/execs/" + running.json()["id"].get<std::string>()).status, 200);
  for (const char* wrong : {"soon", "-1s", "6m", "20mss"})
    EXPECT_EQ(post(sandbox + "/execs?wait=" + wrong, {{"shell", "true"}}).status, 400) << wrong;
}

TEST_F(Server, AResultTakesItsSandboxWithIt) {
  auto deleted = [&](const std::string& sandbox, const json& body) {
    HttpResponse answer = post(sandbox + "/execs?wait=1m&remove=true", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.headers["sandbox-deleted"];
  };
  for (const char* program : {"echo one", "echo two >&2", "exit 3", "sleep 30 & true"}) {
    std::string sandbox = make();
    EXPECT_EQ(deleted(sandbox, {{"shell", program}}), "true") << program;
    EXPECT_EQ(call("GET", sandbox).status, 404);
    EXPECT_EQ(post(sandbox + "/execs?wait=true", {{"argv", {"true"}}}).status, 404);
  }
  // What it wrote could not be fetched any more.
  std::string sandbox = make();
  EXPECT_EQ(deleted(sandbox, {{"shell", "echo out; echo err >&2"}}), "false");
  EXPECT_EQ(deleted(sandbox, {{"shell", "head -c 30000000 /dev/zero"}}), "false");
  EXPECT_EQ(post(sandbox + "/execs?wait=20ms&remove=true", {{"shell", "sleep 60"}}).status, 201);
  EXPECT_EQ(post(sandbox + "/execs?wait=true&remove=perhaps", {{"argv", {"true"}}}).status, 400);
  EXPECT_EQ(call("GET", sandbox).status, 200);
  EXPECT_EQ(call("DELETE", sandbox).status, 204);
}

// A kill that comes before the program has joined its control group, which takes long where others use up the
// processor; and all that it may have started meanwhile.
TEST_F(Server, KillsWhatHasJustBeenStarted) {
  constexpr int kThreads = 3, kTimes = 8;
  std::string sandbox = make({{"limits", {{"cpus", 0.2}, {"processes", 500}}}});
  std::string hog = start(sandbox, {{"shell", "while :; do :; done & while :; do :; done"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < kTimes; ++j) {
        json body = {{"shell", "sleep 1001 & setsid sleep 1002 & sleep 1003"}};
        if (j % 2 == 0) body = {{"argv", {"sleep", "1004"}}};
        if ((i + j) % 4 == 0) body["pty"] = {{"rows", 24}, {"cols", 80}};
        std::string exec = start(sandbox, body);
        ::usleep(static_cast<unsigned>(i * j) * 2000);
        HttpResponse killed = call("DELETE", exec);
        EXPECT_EQ(killed.status, 200) << killed.body;
        EXPECT_EQ(killed.json().value("status", ""), "killed") << killed.body;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(call("DELETE", hog).status, 200);
  EXPECT_EQ(run(sandbox, {{"shell", "pgrep -x sleep | wc -l"}})["stdout"]["text"], "0\n");
}

// The same for certain: process 1 has the kill before it has started the program.
TEST_F(Server, KillsWhatProcess1HasNotStartedYet) {
  COVE_NEEDS_ROOT();
  std::string sandbox = make();
  start(sandbox, {{"argv", {"sleep", "98761"}}});
  auto parent_of_sleep = [] {
    std::string pid = test::run({"pgrep", "-fx", "sleep 98761"}).out;
    return pid.empty() ? 0
                       : std::atoi(test::run({"ps", "-o", "ppid=", "-p", pid.substr(0, pid.find('\n'))}).out.c_str());
  };
  pid_t process_1 = 0;
  for (int i = 0; i < 500 && process_1 <= 1; ++i) process_1 = parent_of_sleep();
  ASSERT_GT(process_1, 1);
  ASSERT_EQ(::kill(process_1, SIGSTOP), 0);
  std::string exec = start(sandbox, {{"argv", {"sleep", "98762"}}});
  std::thread later([&] {
    ::usleep(200'000);
    ::kill(process_1, SIGCONT);
  });
  HttpResponse killed = call("DELETE", exec);
  later.join();
  EXPECT_EQ(killed.status, 200) << killed.body;
  EXPECT_EQ(killed.json().value("status", ""), "killed") << killed.body;
  EXPECT_EQ(run(sandbox, {{"shell", "pgrep -x sleep | wc -l"}})["stdout"]["text"], "1\n");
}

TEST_F(Server, KillsWhatItsCallerNoLongerWaitsFor) {
  std::string sandbox = make();
  auto count_running = [&] { return call("GET", sandbox + "/execs?state=running").json()["execs"].size(); };
  HttpStream kept(socket(),
                  {"POST", sandbox + "/execs", {{"accept", "text/event-stream"}}, R"({"shell":"echo go; sleep 60"})"});
  EXPECT_TRUE(kept.next_event());
  kept.close();
  HttpStream killed(socket(), {"POST",
                               sandbox + "/execs",
                               {{"accept", "text/event-stream"}},
                               R"({"shell":"echo go; sleep 60","on_disconnect":"kill"})"});
  EXPECT_TRUE(killed.next_event());
  killed.close();
  for (int i = 0; i < 500 && count_running() > 1; ++i) ::usleep(10'000);
  EXPECT_EQ(count_running(), 1u);
}

TEST_F(Server, AttachesByWebSocket) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"shell", "cat; echo end >&2"}});
  HttpStream socket_stream = open_websocket(socket(), exec + "/attach");
  ASSERT_EQ(socket_stream.status(), 101);
  socket_stream.send_frame(2, "binary\n");
  HttpStream::Frame frame = socket_stream.next_frame();
  EXPECT_EQ(frame.opcode, 2);
  EXPECT_EQ(frame.data, std::string("\x01\0\0\0\0\0\0\0\x01", 9) + "binary\n");
  socket_stream.send_frame(1, R"({"type":"dance"})");
  EXPECT_EQ(json::parse(socket_stream.next_frame().data)["type"], "error");
  socket_stream.send_frame(1, R"({"type":"stdin","text":"text\n"})");
  EXPECT_EQ(socket_stream.next_frame().data.substr(9), "text\n");
  socket_stream.send_frame(1, R"({"type":"close_stdin"})");
  EXPECT_EQ(socket_stream.next_frame().data, std::string("\x02\0\0\0\0\0\0\0\x03", 9) + "end\n");
  json exit = json::parse(socket_stream.next_frame().data);
  EXPECT_EQ(exit["type"], "exit");
  EXPECT_EQ(exit["seq"], 4);
  frame = socket_stream.next_frame();
  EXPECT_EQ(frame.opcode, 8);
  EXPECT_EQ(frame.data.substr(0, 2), "\x03\xe8");
  expect_problem(call("GET", exec + "/attach"), 400, "invalid");
  EXPECT_EQ(open_websocket(socket(), sandbox + "/execs/none/attach").status(), 404);
}

TEST_F(Server, SendsOutputWhileInputWaits) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"argv", {"cat"}}});
  HttpStream attached = open_websocket(socket(), exec + "/attach");
  ASSERT_EQ(attached.status(), 101);
  std::string block(1 << 20, 'x');
  std::thread sender([&] {
    for (int i = 0; i < 12; ++i) attached.send_frame(2, block);
    attached.send_frame(1, R"({"type":"close_stdin"})");
  });
  size_t bytes = 0;
  HttpStream::Frame frame = attached.next_frame();
  for (; frame.opcode == 2; frame = attached.next_frame()) bytes += frame.data.size() - 9;
  sender.join();
  EXPECT_EQ(bytes, 12u << 20);
}

// --- files -----------------------------------------------------------------------------------------------------------

TEST_F(Server, WritesReadsAndRemovesFiles) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=data.csv";
  HttpResponse written = call("PUT", file, "a,1\nb,2\n");
  EXPECT_EQ(written.status, 201) << written.body;
  EXPECT_EQ(written.json(), json({{"path", "/home/user/data.csv"}, {"bytes", 8}}));
  HttpResponse read = call("GET", file);
  EXPECT_EQ(read.body, "a,1\nb,2\n");
  EXPECT_EQ(read.headers["cove-mode"], "0644");
  EXPECT_EQ(read.headers["cove-owner"], "1000:1000");
  HttpResponse head = call("HEAD", file);
  EXPECT_EQ(head.headers["content-length"], "8");
  EXPECT_EQ(head.headers["etag"], read.headers["etag"]);
  EXPECT_EQ(call("PUT", file, "new").status, 200);
  EXPECT_NE(call("HEAD", file).headers["etag"], read.headers["etag"]);
  EXPECT_EQ(call("DELETE", file).status, 204);
  expect_problem(call("GET", file), 404, "not_found");
  expect_problem(call("DELETE", file), 404, "not_found");
}

TEST_F(Server, ReadsRanges) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=digits";
  call("PUT", file, "0123456789");
  HttpResponse part = call("GET", file, "", {{"range", "bytes=2-4"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "234");
  EXPECT_EQ(part.headers["content-range"], "bytes 2-4/10");
  HttpResponse none = call("GET", file, "", {{"range", "bytes=10-"}});
  expect_problem(none, 416, "precondition");
  EXPECT_EQ(none.headers["content-range"], "bytes */10");
}

TEST_F(Server, RefusesFilesThatCannotBe) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p d/e; mkfifo pipe; ln -s loop loop"}});
  expect_problem(call("PUT", sandbox + "/files?path=no/such/f", "x"), 404, "not_found");
  EXPECT_EQ(call("PUT", sandbox + "/files?path=new/deep/f&parents=true&mode=0755", "x").status, 201);
  EXPECT_EQ(call("HEAD", sandbox + "/files?path=new/deep/f").headers["cove-mode"], "0755");
  expect_problem(call("PUT", sandbox + "/files?path=/etc/by-user", "x"), 403, "denied");
  EXPECT_EQ(call("PUT", sandbox + "/files?path=/etc/by-root&user=root", "x").status, 201);
  for (const char* path : {"d", "pipe", "loop", ""})
    expect_problem(call("GET", sandbox + "/files?path=" + path), 400, "invalid");
  expect_problem(call("GET", sandbox + "/files"), 400, "invalid");
  expect_problem(call("PUT", sandbox + "/files?path=f&mode=9", "x"), 400, "invalid");
  expect_problem(call("GET", sandbox + "/files?path=f&user=nobody-of-that-name"), 404, "not_found");
  expect_problem(call("DELETE", sandbox + "/files?path=d"), 409, "conflict");
  EXPECT_EQ(call("DELETE", sandbox + "/files?path=d&recursive=true").status, 204);
}

TEST_F(Server, ResolvesLinksInside) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "ln -s /etc/hostname name; ln -s target link; echo old > target"}});
  EXPECT_EQ(call("GET", sandbox + "/files?path=name").body, call("GET", sandbox + "/files?path=/etc/hostname").body);
  EXPECT_EQ(call("PUT", sandbox + "/files?path=link", "new").status, 200);
  EXPECT_EQ(run(sandbox, {{"shell", "cat target; readlink link"}})["stdout"]["text"], "newtarget\n");
}

TEST_F(Server, LeavesTheOldFileWhenAnUploadBreaks) {
  std::string sandbox = make();
  std::string file = sandbox + "/files?path=kept";
  call("PUT", file, "old");
  send_and_hang_up(socket(), {"PUT", file, {{"content-length", "1000000"}}, "half"});
  auto names = [&] {
    const json listing = call("GET", sandbox + "/entries?path=.").json();
    std::string all;
    for (const json& entry : listing["entries"]) all += entry["name"];
    return all;
  };
  for (int i = 0; i < 500 && names().find(".cove-upload") != std::string::npos; ++i) ::usleep(10'000);
  EXPECT_THAT(names(), testing::Not(HasSubstr(".cove-upload")));
  EXPECT_EQ(call("GET", file).body, "old");
}

TEST_F(Server, ListsAndChangesEntries) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p t/d/e; echo 12345 > t/f; ln -s f t/l; mkfifo t/p; mkdir full; touch full/x"}});
  json one = call("GET", sandbox + "/entries?path=t").json();
  ASSERT_EQ(one["entries"].size(), 4u) << one;
  EXPECT_EQ(one["entries"][1]["path"], "/home/user/t/f");
  EXPECT_EQ(one["entries"][1]["size"], 6);
  EXPECT_EQ(one["entries"][2]["target"], "f");
  EXPECT_EQ(one["entries"][3]["type"], "other");
  EXPECT_EQ(call("GET", sandbox + "/entries?path=t&depth=2").json()["entries"].size(), 5u);
  EXPECT_EQ(call("GET", sandbox + "/entries?path=t&depth=0").json()["entries"][0]["name"], "t");
  expect_problem(call("GET", sandbox + "/entries?path=none"), 404, "not_found");
  expect_problem(call("GET", sandbox + "/entries?path=t&depth=65"), 400, "invalid");

  std::string entries = sandbox + "/entries/";
  EXPECT_EQ(post(entries + "mkdir", {{"path", "a/b"}, {"parents", true}, {"mode", "0777"}}).json()["mode"], "0777");
  expect_problem(post(entries + "mkdir", {{"path", "a"}}), 409, "exists");
  expect_problem(post(entries + "mkdir", {{"path", "/etc/d"}}), 403, "denied");
  EXPECT_EQ(post(entries + "move", {{"from", "t/f"}, {"to", "g"}}).json()["path"], "/home/user/g");
  expect_problem(post(entries + "move", {{"from", "none"}, {"to", "g"}}), 404, "not_found");
  expect_problem(post(entries + "move", {{"from", "a"}, {"to", "full"}}), 409, "conflict");
  EXPECT_EQ(post(entries + "chmod", {{"path", "g"}, {"mode", "600"}}).json()["mode"], "0600");
  expect_problem(post(entries + "chmod", {{"path", "g"}, {"mode", "8"}}), 400, "invalid");
}

TEST_F(Server, PacksAndUnpacksFolders) {
  std::string sandbox = make();
  run(sandbox, {{"shell",
                 "mkdir -p t/d; echo one > t/f; echo three > t/d/g; chmod 755 t/f; ln -s f t/l; echo x > t/ü; "
                 "head -c 300000 /dev/urandom > t/big; touch $(printf 't/%0200d' 7)"}});
  HttpResponse tar = call("GET", sandbox + "/archive?path=t");
  EXPECT_EQ(tar.status, 200);
  EXPECT_TRUE(tar.whole);
  HttpResponse unpacked = call("PUT", sandbox + "/archive?path=copy", tar.body);
  EXPECT_EQ(unpacked.status, 200) << unpacked.body;
  EXPECT_EQ(unpacked.json()["bytes"], 300'000 + 12);
  json same = run(sandbox, {{"shell", "diff -r t copy && test -x copy/f && readlink copy/l && ls copy | grep ü"}});
  EXPECT_EQ(same["stdout"]["text"], "f\nü\n") << same;
  expect_problem(call("GET", sandbox + "/archive?path=none"), 404, "not_found");
  expect_problem(call("PUT", sandbox + "/archive?path=bad", std::string(2048, 'x')), 400, "invalid");
  expect_problem(call("PUT", sandbox + "/archive?path=/etc", tar.body), 403, "denied");
}

TEST_F(Server, UnpacksWhatOthersPack) {
  std::string sandbox = make();
  for (const char* format : {"gnu", "pax", "ustar"}) {
    Outcome tar = cove::test::run(
        {"sh", "-c",
         std::string("rm -rf T && mkdir -p T/d && echo 1 > T/d/ü && ln T/d/ü T/hard && tar -c --format=") + format +
             " -C T ."},
        {.cwd = server_->folder()});
    HttpResponse unpacked = call("PUT", sandbox + "/archive?path=" + format, tar.out);
    EXPECT_EQ(unpacked.status, 200) << unpacked.body;
    EXPECT_EQ(run(sandbox, {{"shell", std::string("cat ") + format + "/d/ü " + format + "/hard"}})["stdout"]["text"],
              "1\n1\n")
        << format;
  }
}

TEST_F(Server, UnpacksNothingOutsideOfTheFolder) {
  std::string sandbox = make();
  const char* script =
      "import io,sys,tarfile\n"
      "t=tarfile.open(fileobj=sys.stdout.buffer,mode='w|')\n"
      "def link(n,to):\n  i=tarfile.TarInfo(n);i.type=tarfile.SYMTYPE;i.linkname=to;t.addfile(i)\n"
      "def file(n):\n  i=tarfile.TarInfo(n);i.size=1;t.addfile(i,io.BytesIO(b'x'))\n"
      "exec(sys.argv[1])\nt.close()\n";
  for (const char* content :
       {"file('../outside')", "file('a/../../outside')", "link('l','/home/user'); file('l/outside')"}) {
    Outcome tar = cove::test::run({"python3", "-c", script, content});
    expect_problem(call("PUT", sandbox + "/archive?path=in", tar.out), 400, "invalid");
  }
  EXPECT_EQ(run(sandbox, {{"shell", "ls outside in/outside"}})["exit_code"], 2);
}

TEST_F(Server, WatchesFolders) {
  std::string sandbox = make();
  run(sandbox, {{"shell", "mkdir -p w/sub"}});
  HttpStream stream(socket(), {"GET", sandbox + "/watch?path=w&recursive=true", {}, ""});
  ASSERT_EQ(stream.status(), 200);
  EXPECT_EQ(stream.next_event()->name, "ready");
  run(sandbox, {{"shell", "echo x > w/sub/f; mkdir -p w/new/deep; echo y > w/new/deep/g; rm w/sub/f"}});
  std::set<std::string> wanted = {"create /home/user/w/sub/f", "modify /home/user/w/sub/f", "create /home/user/w/new",
                                  "create /home/user/w/new/deep/g", "delete /home/user/w/sub/f"};
  while (!wanted.empty()) {
    auto event = stream.next_event();
    ASSERT_TRUE(event) << *wanted.begin();
    wanted.erase(event->data["type"].get<std::string>() + " " + event->data["path"].get<std::string>());
  }
  expect_problem(call("GET", sandbox + "/watch?path=none"), 404, "not_found");
  expect_problem(call("GET", sandbox + "/watch?path=w", "", {{"accept", "application/json"}}), 406, "not_acceptable");
}

// --- who may call ----------------------------------------------------------------------------------------------------

TEST_F(Server, WantsAKeyOverTcp) {
  HttpResponse refused = over_tcp("GET", "/v1/sandboxes", {});
  expect_problem(refused, 401, "unauthorized");
  EXPECT_THAT(refused.headers["www-authenticate"], StartsWith("Bearer"));
  expect_problem(over_tcp("GET", "/v1/sandboxes", bearer("cove_" + std::string(64, '0'))), 401, "unauthorized");
  expect_problem(over_tcp("GET", "/v1/sandboxes", {{"authorization", "Basic eDp5"}}), 401, "unauthorized");
  EXPECT_EQ(over_tcp("GET", "/v1/health/live", {}).status, 200);

  HttpResponse made = post("/v1/keys", {{"name", "reader"}, {"scopes", {"read"}}, {"expires", "1h"}});
  ASSERT_EQ(made.status, 201) << made.body;
  std::string key = made.json()["key"];
  EXPECT_EQ(over_tcp("GET", "/v1/sandboxes", bearer(key)).status, 200);
  EXPECT_EQ(over_tcp("GET", "/v1/sandboxes", {{"x-api-key", key}}).status, 200);
  expect_problem(over_tcp("POST", "/v1/sandboxes", bearer(key), "{}"), 403, "denied");
  expect_problem(over_tcp("GET", "/v1/keys", bearer(key)), 403, "denied");
  std::string id = made.json()["id"];
  EXPECT_THAT(call("GET", "/v1/keys").body, HasSubstr(id));
  EXPECT_THAT(call("GET", "/v1/keys").body, testing::Not(HasSubstr(key)));
  EXPECT_EQ(call("DELETE", "/v1/keys/" + id).status, 204);
  expect_problem(over_tcp("GET", "/v1/sandboxes", bearer(key)), 401, "unauthorized");
  expect_problem(call("DELETE", "/v1/keys/" + id), 404, "not_found");
  expect_problem(post("/v1/keys", {{"name", "x"}, {"scopes", {"all"}}}), 400, "invalid");
  expect_problem(post("/v1/keys", {{"name", "x"}, {"project", "none"}}), 404, "not_found");
}

TEST_F(Server, MindsHostsAndOrigins) {
  HeaderMap key = bearer(make_key({"run"}));
  HeaderMap host = key;
  host["host"] = "evil.example";
  expect_problem(over_tcp("GET", "/v1/sandboxes", host), 403, "denied");
  HeaderMap origin = key;
  origin["origin"] = "http://evil.example";
  expect_problem(over_tcp("POST", "/v1/sandboxes", origin, "{}"), 403, "denied");
  EXPECT_EQ(over_tcp("GET", "/v1/sandboxes", origin).status, 200);
}

TEST_F(Server, GivesTokensForOneSandbox) {
  std::string sandbox = make();
  std::string other = make({{"start", false}});
  auto token = [&](const char* scope) {
    return post(sandbox + "/tokens", {{"scopes", {scope}}, {"ttl", "10m"}}).json().value("token", "");
  };
  HeaderMap reader = bearer(token("read"));
  EXPECT_EQ(over_tcp("GET", sandbox, reader).status, 200);
  EXPECT_EQ(over_tcp("GET", sandbox + "/entries?path=/tmp&token=" + token("read"), {}).status, 200);
  expect_problem(over_tcp("POST", sandbox + "/execs", reader, R"({"argv":["true"]})"), 403, "denied");
  EXPECT_EQ(over_tcp("POST", sandbox + "/execs?wait=true", bearer(token("run")), R"({"argv":["true"]})").status, 200);
  expect_problem(over_tcp("GET", other, reader), 404, "not_found");
  expect_problem(over_tcp("GET", "/v1/sandboxes", reader), 403, "denied");
  expect_problem(over_tcp("DELETE", sandbox, bearer(token("run"))), 403, "denied");
  expect_problem(
      over_tcp("POST", sandbox + "/execs?wait=true&remove=true", bearer(token("run")), R"({"argv":["true"]})"), 403,
      "denied");
  expect_problem(post(sandbox + "/tokens", {{"scopes", {"admin"}}}), 400, "invalid");
  expect_problem(post(sandbox + "/tokens", json::object()), 400, "invalid");
}

TEST_F(Server, SignsUrlsOfFiles) {
  std::string sandbox = make();
  call("PUT", sandbox + "/files?path=a%20b", "signed");
  std::string url = post(sandbox + "/tokens", {{"file", {{"path", "a b"}}}, {"ttl", 60}}).json()["url"];
  EXPECT_EQ(over_tcp("GET", url, {}).body, "signed");
  EXPECT_EQ(over_tcp("PUT", url, {}, "x").status, 403);
  std::string upload = post(sandbox + "/tokens", {{"file", {{"path", "up"}, {"method", "PUT"}}}}).json()["url"];
  EXPECT_EQ(over_tcp("PUT", upload, {}, "up").status, 201);
  EXPECT_EQ(call("GET", sandbox + "/files?path=up").body, "up");
}

TEST_F(Server, KeepsProjectsApart) {
  HttpResponse made = post("/v1/projects", {{"id", "web"}, {"quotas", {{"sandboxes", 1}, {"memory", "4g"}}}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.headers["location"], "/v1/projects/web");
  expect_problem(post("/v1/projects", {{"id", "web"}}), 409, "exists");
  HeaderMap inside = {{"cove-project", "web"}};
  HttpResponse sandbox = call("POST", "/v1/sandboxes", R"({"start":false})", inside);
  EXPECT_EQ(sandbox.status, 201) << sandbox.body;
  std::string path = "/v1/sandboxes/" + sandbox.json()["id"].get<std::string>();
  HttpResponse full = call("POST", "/v1/sandboxes", "{}", inside);
  expect_problem(full, 429, "exhausted");
  EXPECT_NE(full.headers["retry-after"], "");
  expect_problem(call("GET", path), 404, "not_found");
  EXPECT_EQ(call("GET", "/v1/projects/web").json()["usage"]["sandboxes"], 1);
  EXPECT_EQ(call("PATCH", "/v1/projects/web", R"({"quotas":{"sandboxes":2}})").json()["quotas"]["memory"], 4ull << 30);
  expect_problem(call("DELETE", "/v1/projects/web"), 409, "conflict");
  expect_problem(call("DELETE", "/v1/projects/default"), 409, "conflict");
  HeaderMap key = bearer(make_key({"admin"}));
  EXPECT_EQ(over_tcp("GET", "/v1/projects", key).json()["projects"].size(), 1u);
  expect_problem(over_tcp("GET", "/v1/projects/web", key), 404, "not_found");
  expect_problem(over_tcp("POST", "/v1/projects", key, R"({"id":"x"})"), 403, "denied");
  EXPECT_EQ(call("DELETE", path, "", inside).status, 204);
  EXPECT_EQ(call("DELETE", "/v1/projects/web").status, 204);
  expect_problem(call("GET", "/v1/sandboxes", "", inside), 404, "not_found");
}

// --- the server itself -----------------------------------------------------------------------------------------------

TEST_F(Server, TellsWhatHappened) {
  json before = call("GET", "/v1/events?limit=1000").json();
  uint64_t after = before["next"];
  while (!before["events"].empty()) {
    before = call("GET", "/v1/events?limit=1000&after=" + std::to_string(after)).json();
    after = before["next"];
  }
  HttpStream stream(socket(),
                    {"GET", "/v1/events?after=" + std::to_string(after), {{"accept", "text/event-stream"}}, ""});
  std::string sandbox = make();
  run(sandbox, {{"argv", {"true"}}});
  call("PUT", sandbox + "/files?path=f", "x");
  std::vector<std::string> wanted = {"sandbox.created", "exec.started", "exec.ended", "file.written"};
  uint64_t last = after;
  for (const std::string& kind : wanted) {
    std::optional<HttpStream::Event> event;
    do {
      event = stream.next_event();
      ASSERT_TRUE(event) << kind;
      EXPECT_GT(event->data["seq"], last);
      last = event->data["seq"];
    } while (event->data["kind"] != kind);
    EXPECT_EQ(event->id, std::to_string(last));
    EXPECT_THAT(event->data["actor"], StartsWith("uid:"));
  }
  expect_problem(call("GET", "/v1/events?after=-1"), 400, "invalid");
}

TEST_F(Server, TellsOfItself) {
  HttpResponse live = call("GET", "/v1/health/live");
  EXPECT_EQ(live.json()["status"], "live");
  EXPECT_NE(live.headers["cove-version"], "");
  EXPECT_EQ(call("GET", "/v1/health/ready").json()["status"], "ready");
  json machine = call("GET", "/v1/machine").json();
  EXPECT_EQ(machine["runtimes"][0]["name"], "native") << machine;
  EXPECT_EQ(machine["runtimes"][0]["available"], true) << machine;
  EXPECT_EQ(machine["mode"], ::geteuid() == 0 ? "root" : "rootless") << machine;  // not coved's own
  EXPECT_GT(machine["capacity"]["memory"], 0);
  EXPECT_GT(call("GET", "/v1/config").json()["settings"].size(), 10u);
  EXPECT_EQ(call("GET", "/v1/images").json()["images"][0]["name"], "host");
  EXPECT_GE(call("GET", "/v1/languages").json()["languages"].size(), 14u);
  std::string sandbox = make();
  run(sandbox, {{"argv", {"true"}}});
  json usage = call("GET", "/v1/usage").json();
  EXPECT_GE(usage["sandboxes"], 1);
  EXPECT_GE(usage["totals"]["execs"], 1);
  std::string metrics = call("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("cove_sandboxes{state=\"running\"}"));
  EXPECT_THAT(metrics, HasSubstr("cove_create_seconds_bucket{le=\"+Inf\"}"));
  EXPECT_THAT(metrics, HasSubstr("route=\"/v1/health/live\""));
}

TEST(ServerStart, RefusesToServeTheWorldInTheClear) {
  ServerUnderTest server({"--listen", "tcp:0.0.0.0:0"});
  EXPECT_FALSE(server.running());
  EXPECT_THAT(server.said(), HasSubstr("TLS"));
  EXPECT_EQ(server.stop(), 1);
}

TEST(ServerStart, EndsWhenAsked) {
  ServerUnderTest server;
  ASSERT_TRUE(server.running()) << server.said();
  HttpStream events(server.socket(), {"GET", "/v1/events", {{"accept", "text/event-stream"}}, ""});
  EXPECT_EQ(events.status(), 200);
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace cove::test
