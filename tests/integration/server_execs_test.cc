// The server's API as its callers meet it: programs, their input and output, and their ends.
#include <csignal>
#include <thread>

#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

using ServerExecs = Server;

TEST_F(ServerExecs, RunsCommandsAndCode) {
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
  EXPECT_LT(run(sandbox, {{"argv", {std::string(30'000, 'x')}}})["why"].get<std::string>().size(), 1000u);
  EXPECT_EQ(run(sandbox, {{"shell", "printf '\\377'"}})["stdout"]["base64"], "/w==");
  expect_problem(post(sandbox + "/execs", json::object()), 400, "invalid");
  expect_problem(post(sandbox + "/execs", {{"code", "x"}, {"language", "pyton"}}), 400, "invalid");
  expect_problem(post(sandbox + "/execs?wait=maybe", {{"shell", "x"}}), 400, "invalid");
}

TEST_F(ServerExecs, StreamsOutputWithNumbers) {
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

TEST_F(ServerExecs, TakesInputAndGivesOutputAgain) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"argv", {"cat"}}, {"tag", "echo"}});
  for (const char* own : {"context/python/default-python", "former-context"})
    expect_problem(post(sandbox + "/execs", {{"argv", {"cat"}}, {"tag", own}}), 400, "invalid");
  EXPECT_EQ(call("GET", exec).json()["state"], "running");
  EXPECT_EQ(call("GET", sandbox + "/execs?tag=echo&state=running").json()["items"].size(), 1u);
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

TEST_F(ServerExecs, GivesEveryByteOfLongInput) {
  std::string sandbox = make();
  std::string exec = start(sandbox, {{"shell", "sleep 1; wc -c"}});
  EXPECT_EQ(call("POST", exec + "/stdin?close=true", std::string(3'000'000, 'x')).status, 204);
  HttpStream stream(socket(), {"GET", exec + "/output", {{"accept", "text/event-stream"}}, ""});
  EXPECT_EQ(stream.next_event()->data["text"], "3000000\n");
}

TEST_F(ServerExecs, SignalsResizesAndKills) {
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

// A kill that comes before the program has joined its control group, which takes long where others use up the
// processor; and all that it may have started meanwhile.
TEST_F(ServerExecs, KillsWhatHasJustBeenStarted) {
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
TEST_F(ServerExecs, KillsWhatProcess1HasNotStartedYet) {
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

TEST_F(ServerExecs, KillsWhatItsCallerNoLongerWaitsFor) {
  std::string sandbox = make();
  auto count_running = [&] { return call("GET", sandbox + "/execs?state=running").json()["items"].size(); };
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

TEST_F(ServerExecs, AttachesByWebSocket) {
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

TEST_F(ServerExecs, SendsOutputWhileInputWaits) {
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

}  // namespace
}  // namespace cove::test
