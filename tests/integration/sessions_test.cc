// Sessions as agents use them: who gets which sandbox, how long it lives, and that nobody sees another's.
#include <barrier>
#include <mutex>
#include <set>
#include <thread>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kMany = 50;

class Sessions : public WithServer<Sessions> {
 public:
  static std::vector<std::string> arguments() { return {"--limits-memory", "256m"}; }

 protected:
  void TearDown() override {
    if (server_ && server_->running()) remove_all();
  }
};

TEST_F(Sessions, StartWithoutASandboxAndGetOneByUse) {
  uint64_t before = last_event();
  HttpResponse started = post("/v1/sessions", {{"agent", "bot"}, {"labels", {{"team", "web"}}}, {"env", {{"A", "1"}}}});
  ASSERT_EQ(started.status, 201) << started.body;
  std::string id = started.json()["id"];
  EXPECT_EQ(started.headers["location"], "/v1/sessions/" + id);
  EXPECT_EQ(started.json()["state"], "active");
  EXPECT_EQ(started.json()["scope"], "session");
  EXPECT_EQ(started.json()["mode"], "all");
  EXPECT_EQ(started.json()["lifecycle"]["idle_ms"], 1'800'000);
  EXPECT_TRUE(started.json()["sandbox_id"].is_null());
  EXPECT_EQ(count_sandboxes(), 0u);
  json result = run_in(id, {{"shell", "echo $A; echo kept > note"}});
  EXPECT_EQ(result["stdout"]["text"], "1\n");
  EXPECT_EQ(result["where"], "sandbox");
  EXPECT_THAT(result["why"], HasSubstr("mode all"));
  EXPECT_EQ(text_in(id, "cat note"), "kept\n");
  EXPECT_EQ(session(id)["sandbox_id"], result["sandbox_id"]);
  EXPECT_EQ(count_sandboxes("&label=team%3Dweb"), 1u);
  ASSERT_EQ(events_since(before, "session.started").size(), 1u);
  std::vector<json> bound = events_since(before, "session.bound");
  ASSERT_EQ(bound.size(), 1u);
  EXPECT_EQ(bound[0]["sandbox_id"], result["sandbox_id"]);
  EXPECT_EQ(bound[0]["data"]["session"], id);
}

TEST_F(Sessions, EndWithTheirSandbox) {
  std::string id = start();
  run_in(id, {{"argv", {"true"}}});
  post("/v1/sessions/" + id + "/execs", {{"argv", {"sleep", "1000"}}});
  EXPECT_EQ(count_sandboxes(), 1u);
  EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 204);
  EXPECT_EQ(count_sandboxes(), 0u);
  json ended = session(id);
  EXPECT_EQ(ended["state"], "ended");
  EXPECT_THAT(ended["reason"], HasSubstr("uid:"));
  EXPECT_FALSE(ended["ended_at"].is_null());
  EXPECT_TRUE(ended["sandbox_id"].is_null());
  HttpResponse late = try_in(id, {{"argv", {"true"}}});
  expect_refusal(late, 409, "conflict");
  EXPECT_THAT(late.json()["detail"], HasSubstr("ended by uid:"));
  EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 204) << "what holds already";
  expect_refusal(call("DELETE", "/v1/sessions/none"), 404, "not_found");
  expect_refusal(try_in("none", {{"argv", {"true"}}}), 404, "not_found");
}

// Each time: as many as come at once, exactly one sandbox is made.
TEST_F(Sessions, ManyFirstUsesAtOnceMakeOneSandbox) {
  struct Case {
    json body;
    const char* name;
  };
  for (const Case& each : {Case{json::object(), "session"}, Case{{{"scope", "agent"}, {"agent", "crowd"}}, "agent"},
                           Case{{{"scope", "shared"}}, "shared"}}) {
    SCOPED_TRACE(each.name);
    uint64_t before = last_event();
    std::string id = start(each.body);
    std::mutex mutex;
    std::set<std::string> sandboxes;
    std::barrier ready(kMany);
    std::vector<std::thread> threads;
    for (int i = 0; i < kMany; ++i)
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        json result = run_in(id, {{"argv", {"true"}}});
        std::lock_guard lock(mutex);
        sandboxes.insert(result.value("sandbox_id", result.dump()));
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(sandboxes.size(), 1u) << *sandboxes.begin() << *sandboxes.rbegin();
    EXPECT_EQ(events_since(before, "sandbox.created").size(), 1u);
    call("DELETE", "/v1/sessions/" + id);
  }
}

// Those that are being started at that very moment, too.
TEST_F(Sessions, EndWithAllExecsThatSomebodyWaitsFor) {
  for (const char* scope : {"session", "agent", "shared"})
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(scope);
      std::string keeper = start({{"agent", "bot"}, {"scope", scope}});
      std::string id = start({{"agent", "bot"}, {"scope", scope}});
      for (const std::string& each : {keeper, id}) run_in(each, {{"argv", {"true"}}});
      std::vector<std::thread> threads;
      for (int i = 0; i < 12; ++i)
        threads.emplace_back([&, i] {
          ::usleep(static_cast<unsigned>(i) * 3000);
          HttpResponse response = try_in(id, {{"argv", {"sleep", "1000"}}});
          EXPECT_TRUE(response.status == 409 || response.json().value("status", "") == "killed") << response.body;
        });
      ::usleep(20'000);
      EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 204);
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(run_in(keeper, {{"shell", "pgrep -x sleep | wc -l"}})["stdout"]["text"], "0\n");
      remove_all();
    }
}

TEST_F(Sessions, AnAgentsSandboxOutlivesThem) {
  std::string first = start({{"agent", "bot"}, {"scope", "agent"}});
  json result = run_in(first, {{"shell", "echo kept > note"}});
  post("/v1/sessions/" + first + "/execs", {{"argv", {"sleep", "1000"}}, {"tag", "waited"}});
  post("/v1/sessions/" + first + "/execs", {{"argv", {"sleep", "1000"}}, {"tag", "left"}, {"detach", true}});
  EXPECT_EQ(call("DELETE", "/v1/sessions/" + first).status, 204);
  std::string sandbox = result["sandbox_id"];
  json running = call("GET", "/v1/sandboxes/" + sandbox + "/execs?state=running").json()["items"];
  ASSERT_EQ(running.size(), 1u) << running;
  EXPECT_EQ(running[0]["tag"], "left") << "an exec that was not detached ends with its session";
  std::string second = start({{"agent", "bot"}, {"scope", "agent"}});
  EXPECT_TRUE(session(second)["sandbox_id"].is_null()) << "it was not used yet";
  EXPECT_EQ(text_in(second, "cat note"), "kept\n");
  EXPECT_EQ(session(second)["sandbox_id"], sandbox);
  std::string other = start({{"agent", "another"}, {"scope", "agent"}});
  EXPECT_EQ(text_in(other, "ls"), "");
  EXPECT_NE(session(other)["sandbox_id"], sandbox);
}

TEST_F(Sessions, TheSharedSandboxServesAllAgentsOfAProject) {
  std::string one = start({{"agent", "one"}, {"scope", "shared"}});
  std::string two = start({{"agent", "two"}, {"scope", "shared"}});
  run_in(one, {{"shell", "echo common > note"}});
  EXPECT_EQ(text_in(two, "cat note"), "common\n");
  EXPECT_EQ(session(one)["sandbox_id"], session(two)["sandbox_id"]);
  EXPECT_EQ(call("GET", "/v1/sessions/" + one + "/execs").json()["items"].size(), 1u) << "only its own";
  call("DELETE", "/v1/sessions/" + one);
  EXPECT_EQ(text_in(two, "cat note"), "common\n");

  ASSERT_EQ(post("/v1/projects", {{"id", "elsewhere"}}).status, 201);
  HeaderMap there = {{"cove-project", "elsewhere"}};
  std::string far = call("POST", "/v1/sessions", {{"scope", "shared"}}, there).json()["id"];
  json result = call("POST", "/v1/sessions/" + far + "/execs?wait=true", {{"shell", "ls"}}, there).json();
  EXPECT_EQ(result["stdout"]["text"], "");
  expect_refusal(call("GET", "/v1/sessions/" + far), 404, "not_found");
  expect_refusal(try_in(far, {{"argv", {"true"}}}), 404, "not_found");
  expect_refusal(call("DELETE", "/v1/sessions/" + far), 404, "not_found");
  EXPECT_EQ(call("GET", "/v1/sessions", nullptr, there).json()["items"].size(), 1u);
  call("DELETE", "/v1/sandboxes/" + result["sandbox_id"].get<std::string>(), nullptr, there);
  EXPECT_EQ(call("DELETE", "/v1/projects/elsewhere").status, 204);
}

TEST_F(Sessions, WakeOrReplaceTheirSandbox) {
  std::string id = start();
  std::string sandbox = run_in(id, {{"shell", "echo kept > note"}})["sandbox_id"];
  for (const char* verb : {"pause", "stop"}) {
    EXPECT_EQ(call("POST", "/v1/sandboxes/" + sandbox + "/" + verb).status, 200);
    EXPECT_EQ(text_in(id, "cat note"), "kept\n") << verb;
    EXPECT_EQ(session(id)["sandbox_id"], sandbox);
  }
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + sandbox).status, 204);
  EXPECT_TRUE(session(id)["sandbox_id"].is_null());
  EXPECT_EQ(call("GET", "/v1/sessions/" + id + "/execs").json()["items"].size(), 0u);
  json again = run_in(id, {{"shell", "ls"}});
  EXPECT_EQ(again["stdout"]["text"], "");
  EXPECT_NE(again["sandbox_id"], sandbox);
}

// Somebody deletes it all the time; whoever uses it always gets a result of his own.
TEST_F(Sessions, SurviveAnybodyWhoDeletesTheirSandbox) {
  std::string id = start({{"scope", "shared"}});
  std::atomic<bool> done = false;
  std::thread deleter([&] {
    while (!done) {
      json sandbox = session(id)["sandbox_id"];
      if (sandbox.is_string()) call("DELETE", "/v1/sandboxes/" + sandbox.get<std::string>());
      ::usleep(50'000);
    }
  });
  int succeeded = 0;
  for (int i = 0; i < 30; ++i) {
    HttpResponse response = try_in(id, {{"argv", {"true"}}});
    // It may be deleted while the program runs: then that is the program's end.
    EXPECT_EQ(response.status, 200) << response.body;
    std::string status = response.json().value("status", "");
    EXPECT_TRUE(status == "success" || status == "killed") << response.body;
    succeeded += status == "success";
  }
  done = true;
  deleter.join();
  EXPECT_GT(succeeded, 0);
}

TEST_F(Sessions, RefuseASandboxThatIsNotAsAskedFor) {
  std::string folder = server_->folder() + "/work";
  ::mkdir(folder.c_str(), 0755);
  ::mkdir((folder + "/inner").c_str(), 0755);
  std::string first =
      start({{"agent", "bot"}, {"scope", "agent"}, {"workspace", {{"path", folder}, {"access", "rw"}}}});
  EXPECT_EQ(text_in(first, "pwd; echo x > made"), "/workspace\n");
  EXPECT_EQ(::access((folder + "/made").c_str(), F_OK), 0);
  std::string other = start({{"agent", "bot"}, {"scope", "agent"}, {"workspace", {{"path", folder + "/inner"}}}});
  HttpResponse refused = try_in(other, {{"argv", {"true"}}});
  expect_refusal(refused, 409, "conflict");
  EXPECT_THAT(refused.json()["detail"], HasSubstr(folder));
  EXPECT_NE(refused.json()["hint"], "");
  std::string larger = start({{"agent", "bot"}, {"scope", "agent"}, {"limits", {{"memory", "300m"}}}});
  expect_refusal(try_in(larger, {{"argv", {"true"}}}), 409, "conflict");
}

// A session without a workspace is not given one that somebody else has put there.
TEST_F(Sessions, WithoutAWorkspaceAreNotGivenThatOfOthers) {
  std::string folder = server_->folder() + "/theirs";
  ::mkdir(folder.c_str(), 0755);
  const json rw = {{"path", folder}, {"access", "rw"}}, none = {{"path", folder}, {"access", "none"}};
  for (const json& scope : {json({{"agent", "bare"}, {"scope", "agent"}}), json({{"scope", "shared"}})}) {
    auto with = [&](const json& workspace) {
      json body = scope;
      if (!workspace.is_null()) body["workspace"] = workspace;
      return start(body);
    };
    EXPECT_EQ(text_in(with(rw), "pwd"), "/workspace\n");
    for (const json& workspace : {json(), none}) {
      std::string bare = with(workspace);
      EXPECT_TRUE(session(bare)["workspace"].is_null());
      HttpResponse refused = try_in(bare, {{"shell", "echo x > /workspace/made"}});
      expect_refusal(refused, 409, "conflict");
      EXPECT_THAT(refused.json()["detail"], HasSubstr("no workspace"));
      EXPECT_NE(::access((folder + "/made").c_str(), F_OK), 0);
    }
    json call = scope;
    call["shell"] = "echo x > /workspace/made";
    expect_refusal(post("/v1/execute", call), 409, "conflict");
    EXPECT_NE(::access((folder + "/made").c_str(), F_OK), 0);
    EXPECT_EQ(text_in(with(rw), "pwd"), "/workspace\n");
    remove_all();
  }
}

TEST_F(Sessions, AreListedInPagesByAgent) {
  std::set<std::string> wanted;
  for (int i = 0; i < 5; ++i) wanted.insert(start({{"agent", "pages"}}));
  start({{"agent", "others"}});
  std::set<std::string> seen;
  std::string after;
  for (int pages = 0; pages < 9; ++pages) {
    json page = call("GET", "/v1/sessions?limit=2&agent=pages" + (after.empty() ? "" : "&after=" + after)).json();
    for (const json& each : page["items"]) seen.insert(each["id"]);
    if (page["next"].is_null()) break;
    after = page["next"];
  }
  EXPECT_EQ(seen, wanted);
  EXPECT_EQ(call("GET", "/v1/sessions?agent=pages&state=ended").json()["items"].size(), 0u);
  call("DELETE", "/v1/sessions/" + *wanted.begin());
  EXPECT_EQ(call("GET", "/v1/sessions?agent=pages&state=ended").json()["items"].size(), 1u);
  for (const char* query : {"limit=0", "state=asleep", "scope=all", "after=%21"})
    expect_refusal(call("GET", std::string("/v1/sessions?") + query), 400, "invalid");
}

TEST_F(Sessions, SayWhatIsWrong) {
  expect_refusal(post("/v1/sessions", {{"scope", "agent"}}), 400, "invalid");
  expect_refusal(post("/v1/sessions", {{"image", "none"}}), 404, "not_found");
  HttpResponse typo = post("/v1/sessions", {{"agnet", "x"}});
  expect_refusal(typo, 400, "invalid");
  EXPECT_THAT(typo.json()["hint"], HasSubstr("agent"));
  std::string id = start();
  expect_refusal(try_in(id, json::object()), 400, "invalid");
  expect_refusal(try_in(id, {{"argv", {"true"}}, {"limits", {{"memory", "1g"}}}}), 422, "unsupported");
  EXPECT_EQ(count_sandboxes(), 0u) << "nothing of that was a use";
}

TEST_F(Sessions, AnswerExecsInAllThreeWays) {
  std::string id = start();
  HttpResponse started = post("/v1/sessions/" + id + "/execs", {{"argv", {"cat"}}, {"tag", "echo"}});
  ASSERT_EQ(started.status, 201) << started.body;
  EXPECT_EQ(started.json()["session_id"], id);
  std::string exec = started.headers["location"];
  EXPECT_EQ(exec, "/v1/sandboxes/" + session(id)["sandbox_id"].get<std::string>() + "/execs/" +
                      started.json()["id"].get<std::string>());
  EXPECT_EQ(call("POST", exec + "/stdin?close=true", "hello").status, 204);
  HttpStream stream(server_->socket(), {"POST",
                                        "/v1/sessions/" + id + "/execs",
                                        {{"accept", "text/event-stream"}},
                                        R"({"shell":"echo one; echo two >&2; exit 3","stdin":null})"});
  std::map<std::string, std::string> text;
  json exit;
  while (auto event = stream.next_event())
    if (event->name == "exit")
      exit = event->data["result"];
    else
      text[event->name] += event->data["text"];
  EXPECT_EQ(text["stdout"], "one\n");
  EXPECT_EQ(text["stderr"], "two\n");
  EXPECT_EQ(exit["exit_code"], 3);
  EXPECT_THAT(exit["why"], HasSubstr("mode all"));
  EXPECT_EQ(call("GET", "/v1/sessions/" + id + "/execs").json()["items"].size(), 2u);
  EXPECT_EQ(call("GET", "/v1/sessions/" + id + "/execs?tag=echo").json()["items"].size(), 1u);
}

TEST_F(Sessions, EndWhenNobodyUsesThem) {
  uint64_t before = last_event();
  std::string id = start({{"lifecycle", {{"idle", "1s"}}}});
  // While somebody waits for an exec it is in use, however long that takes.
  json result = run_in(id, {{"shell", "sleep 3; echo through"}});
  EXPECT_EQ(result["stdout"]["text"], "through\n");
  EXPECT_TRUE(comes_true([&] { return session(id)["state"] == "ended"; }));
  EXPECT_THAT(session(id)["reason"], HasSubstr("not used for 1 s"));
  EXPECT_TRUE(comes_true([&] { return count_sandboxes() == 0; }));
  expect_refusal(try_in(id, {{"argv", {"true"}}}), 409, "conflict");
  std::vector<json> ended = events_since(before, "session.ended");
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0]["actor"], "server");
  EXPECT_TRUE(session(start({{"lifecycle", {{"idle", nullptr}}}}))["expires_at"].is_null());
}

TEST_F(Sessions, AreInUseWhileTheirSandboxIs) {
  std::string id = start({{"lifecycle", {{"idle", "1s"}}}});
  std::string sandbox = run_in(id, {{"argv", {"true"}}})["sandbox_id"];
  json result = post("/v1/sandboxes/" + sandbox + "/execs?wait=true", {{"shell", "sleep 3; echo through"}}).json();
  EXPECT_EQ(result["stdout"]["text"], "through\n") << result.dump();
  EXPECT_TRUE(comes_true([&] { return session(id)["state"] == "ended"; }));
}

TEST_F(Sessions, AnAgentsSandboxStaysWhenTheyExpire) {
  std::string id = start({{"agent", "bot"}, {"scope", "agent"}, {"lifecycle", {{"idle", "500ms"}}}});
  std::string sandbox = run_in(id, {{"argv", {"true"}}})["sandbox_id"];
  EXPECT_TRUE(comes_true([&] { return session(id)["state"] == "ended"; }));
  EXPECT_EQ(call("GET", "/v1/sandboxes/" + sandbox).status, 200);
}

// --- apart from each other -------------------------------------------------------------------------------------------

// Leaves the secret wherever a program can leave something.
constexpr const char* kPlant = R"(
import os, socket, subprocess, sys, time
secret = os.environ["SECRET"]
for path in (os.path.expanduser("~/" + secret), "/tmp/" + secret, "/dev/shm/" + secret, "/var/tmp/" + secret):
    with open(path, "w") as file:
        file.write(secret)
child = subprocess.Popen([sys.executable, "-c", '''
import os, socket, sys, time
one = socket.socket(socket.AF_UNIX); one.bind("\\0" + sys.argv[1]); one.listen()
two = socket.socket(); two.bind(("127.0.0.1", 0)); two.listen()
print("up", flush=True)
time.sleep(100000)
''', secret], stdout=subprocess.PIPE, start_new_session=True, env={**os.environ, "COPY": secret})
child.stdout.readline()
print("planted")
)";

// Finds all secrets that can be seen from here.
constexpr const char* kSearch = R"(
import glob, os, re
found = set()
def look(data):
    found.update(re.findall(rb"secret-[a-z0-9]+", data))
for top in ("/home", "/root", "/tmp", "/var/tmp", "/dev/shm", "/run", "/workspace", "/mnt", "/srv"):
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            look(path.encode())
            try:
                if os.path.isfile(path):
                    look(open(path, "rb").read(1 << 20))
            except OSError:
                pass
for path in glob.glob("/proc/[0-9]*/*") + glob.glob("/proc/[0-9]*/fd/*") + ["/proc/net/unix", "/proc/net/tcp", "/proc/mounts"]:
    if path.rsplit("/", 1)[1] in ("environ", "cmdline", "comm", "unix", "tcp", "mounts"):
        try:
            look(open(path, "rb").read())
        except OSError:
            pass
    else:
        try:
            look(os.readlink(path).encode())
        except OSError:
            pass
look(os.uname().nodename.encode())
print(" ".join(sorted(name.decode() for name in found)))
)";

TEST_F(Sessions, FiftyAtOnceAndTwoAgentsAreOnTheRightSandboxesAndSeeNoOthers) {
  struct Guest {
    std::string agent;
    bool own;  // a sandbox of its own, or the agent's
    std::string secret;
    std::string id;
    std::string sandbox;
    std::string planted;
    std::string seen;
  };
  std::vector<Guest> guests;
  for (int i = 0; i < kMany; ++i) {
    std::string agent = i % 2 ? "odd" : "even";
    bool own = i >= 20;
    guests.push_back({agent, own, own ? "secret-own" + std::to_string(i) : "secret-agent" + agent, "", "", "", ""});
  }
  std::barrier planted(kMany);
  std::vector<std::thread> threads;
  for (Guest& guest : guests)
    threads.emplace_back([&] {
      guest.id = start({{"agent", guest.agent}, {"scope", guest.own ? "session" : "agent"}});
      json result = run_in(guest.id, {{"language", "python"}, {"code", kPlant}, {"env", {{"SECRET", guest.secret}}}});
      // Of those who share one, all but the first find the socket taken.
      guest.planted = result["stdout"].value("text", "") + result["stderr"].value("text", "");
      guest.sandbox = result.value("sandbox_id", "");
      planted.arrive_and_wait();
      result = run_in(guest.id, {{"language", "python"}, {"code", kSearch}});
      guest.seen = result["stdout"].value("text", "") + result["stderr"].value("text", "");
    });
  for (std::thread& thread : threads) thread.join();

  std::map<std::string, std::set<std::string>> secrets;  // by sandbox
  for (const Guest& guest : guests) {
    EXPECT_THAT(guest.planted, HasSubstr("planted"));
    EXPECT_EQ(guest.seen, guest.secret + "\n") << guest.id;
    secrets[guest.sandbox].insert(guest.secret);
    EXPECT_EQ(session(guest.id)["sandbox_id"], guest.sandbox);
  }
  EXPECT_EQ(secrets.size(), 32u) << "30 of their own, and one for each agent";
  for (const auto& [sandbox, inside] : secrets) EXPECT_EQ(inside.size(), 1u) << sandbox;
}

// --- over the end of a server ----------------------------------------------------------------------------------------

TEST_F(Sessions, SurviveARestartAndAKill) {
  std::string own = start({{"lifecycle", {{"idle", "1h"}}}});
  std::string agent = start({{"agent", "bot"}, {"scope", "agent"}});
  std::string unused = start({{"agent", "unused"}, {"mode", "selective"}});
  run_in(own, {{"shell", "echo mine > note"}});
  run_in(agent, {{"shell", "echo agents > note"}});
  std::string sandbox = session(own)["sandbox_id"];
  for (bool by_force : {false, true}) {
    if (by_force)
      server_->kill();
    else
      EXPECT_EQ(server_->stop(), 0);
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(session(unused)["mode"], "selective");
    EXPECT_EQ(text_in(own, "cat note"), "mine\n");
    EXPECT_EQ(session(own)["sandbox_id"], sandbox);
    EXPECT_EQ(text_in(agent, "cat note"), "agents\n");
    EXPECT_EQ(count_sandboxes(), 2u);
  }
}

// The server is killed at every step of a first use: the next one finds the sandbox again, or makes it, but never two.
TEST_F(Sessions, AFirstUseThatIsCutOffLeavesOneSandbox) {
  for (const char* point :
       {"engine.create.built", "engine.create.recorded", "engine.session.made", "store.insert_sandbox.before_commit",
        "store.insert_sandbox.after_commit", "store.bind_session.before_commit", "store.bind_session.after_commit",
        "store.touch_session.after_commit", "engine.exec.recorded"}) {
    SCOPED_TRACE(point);
    std::string id = start({{"agent", point}});
    ASSERT_EQ(server_->stop(), 0);
    server_->start_again(point);
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(try_in(id, {{"argv", {"true"}}}).status, 0) << "the server was to be killed";
    server_->wait();
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(run_in(id, {{"argv", {"true"}}})["status"], "success");
    EXPECT_EQ(count_sandboxes(), 1u);
    EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 204);
    EXPECT_EQ(count_sandboxes(), 0u);
  }
}

TEST_F(Sessions, AnEndThatIsCutOffLeavesNoSandbox) {
  struct Case {
    const char* point;
    const char* state;
  };
  for (const Case& each :
       {Case{"store.end_session.before_commit", "active"}, Case{"store.end_session.after_commit", "ended"},
        Case{"engine.session.ended", "ended"}, Case{"engine.delete.recorded", "ended"}}) {
    SCOPED_TRACE(each.point);
    std::string id = start();
    run_in(id, {{"argv", {"true"}}});
    ASSERT_EQ(server_->stop(), 0);
    server_->start_again(each.point);
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(call("DELETE", "/v1/sessions/" + id).status, 0) << "the server was to be killed";
    server_->wait();
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
    EXPECT_EQ(session(id)["state"], each.state);
    if (session(id)["state"] == "active") call("DELETE", "/v1/sessions/" + id);
    EXPECT_TRUE(comes_true([&] { return count_sandboxes() == 0; }));
  }
}

TEST_F(Sessions, ThatExpireWhileNoServerRunsEndWithTheNext) {
  std::string id = start({{"lifecycle", {{"idle", "500ms"}}}});
  run_in(id, {{"argv", {"true"}}});
  server_->kill();
  ::usleep(700'000);
  server_->start_again();
  ASSERT_TRUE(server_->running()) << server_->said();
  EXPECT_TRUE(comes_true([&] { return session(id)["state"] == "ended" && count_sandboxes() == 0; }));
}

}  // namespace
}  // namespace cove::test
