// The server's API as its callers meet it: sessions, sandboxes and the server itself, and what goes wrong.
#include "base/encoding.h"
#include "integration/server_fixture.h"

namespace cove::test {
namespace {

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
  EXPECT_EQ(call("GET", "/v1/sandboxes?label=team%3Dweb").json()["items"].size(), 1u);
  EXPECT_EQ(call("GET", "/v1/sandboxes?label=team%3Dapi").json()["items"].size(), 0u);
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
    seen += page["items"].size();
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
  expect_problem(post("/v1/sandboxes", {{"snapshot", "x"}}), 400, "invalid");
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
  expect_problem(call("POST", "/v1/sandboxes", R"({"start":false})", key), 409, "idempotency_mismatch");
}

TEST_F(Server, ASandboxCanBeHeldByItsMaker) {
  HttpStream held(socket(), {"POST", "/v1/sandboxes", {{"accept", "text/event-stream"}}, R"({"name":"held"})"});
  ASSERT_EQ(held.status(), 201);
  auto event = held.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "sandbox");
  EXPECT_EQ(event->data["state"], "running");
  EXPECT_EQ(post("/v1/sandboxes/held/execs?wait=true", {{"argv", {"true"}}}).json()["exit_code"], 0);
  held.close();
  EXPECT_TRUE(comes_true([&] { return call("GET", "/v1/sandboxes/held").status == 404; }));
}

TEST_F(Server, ChangesSandboxes) {
  std::string sandbox = make({{"labels", {{"a", "1"}, {"b", "2"}}}, {"env", {{"A", "1"}}}});
  json changed =
      call("PATCH", sandbox, R"({"labels":{"b":null,"c":"3"},"env":{"A":"2"},"limits":{"memory":"512m"}})").json();
  EXPECT_EQ(changed["labels"], json({{"a", "1"}, {"c", "3"}}));
  EXPECT_EQ(changed["limits"]["memory_bytes"], 512 << 20);
  EXPECT_EQ(run(sandbox, {{"shell", "echo $A"}})["stdout"]["text"], "2\n");
  for (const char* limit : {"disk", "inodes", "io_read", "io_write"})
    expect_problem(call("PATCH", sandbox, json({{"limits", {{limit, 1 << 30}}}}).dump()), 409, "conflict");
  expect_problem(call("PATCH", sandbox, R"({"image":"host"})"), 400, "invalid");
  EXPECT_EQ(call("POST", sandbox + "/stop").status, 200);
  EXPECT_EQ(call("PATCH", sandbox, R"({"limits":{"io_read":"1g"}})").json()["limits"]["io_read_bytes"], 1 << 30);
}

TEST_F(Server, ChangesTheRlimitsOfWhatIsStartedFromThenOn) {
  constexpr const char* kShow = "ulimit -n; ulimit -f";  // in blocks of 512 bytes
  std::string fresh = make(), used = make();
  EXPECT_EQ(run(used, {{"shell", kShow}})["stdout"]["text"], "1024\nunlimited\n");
  for (const std::string& sandbox : {fresh, used}) {
    json changed = call("PATCH", sandbox, R"({"limits":{"open_files":64,"file_size":"1m"}})").json();
    EXPECT_EQ(changed["limits"]["open_files"], 64) << changed;
    EXPECT_EQ(changed["enforced"]["open_files"]["value"], "64");
    EXPECT_EQ(changed["enforced"]["file_size"]["value"], "1 MiB");
    EXPECT_EQ(run(sandbox, {{"shell", kShow}})["stdout"]["text"], "64\n2048\n");
    EXPECT_EQ(call("PATCH", sandbox, R"({"limits":{"open_files":2000,"file_size":0}})").status, 200);
    EXPECT_EQ(run(sandbox, {{"shell", kShow}})["stdout"]["text"], "2000\nunlimited\n");
  }
}

TEST_F(Server, RefusesToTakeLimitsOfARunningSandboxAway) {
  std::string sandbox = make();
  for (const char* limit : {"cpus", "memory", "processes"})
    expect_problem(call("PATCH", sandbox, json({{"limits", {{limit, 0}}}}).dump()), 409, "conflict");
  EXPECT_EQ(run(sandbox, {{"shell", "echo hi"}})["stdout"]["text"], "hi\n");
}

TEST_F(Server, RefusesImpossibleLimitsAtOnce) {
  std::string sandbox = make();
  for (const json& each : {json{{"memory", 1}}, json{{"memory", "100000t"}}, json{{"cpus", 1'000'000}},
                           json{{"disk", 1}}, json{{"open_files", 1}}, json{{"processes", 1'000'000'000'000}}}) {
    const std::string limits = json({{"limits", each}}).dump();
    const std::string name = "'limits." + each.begin().key() + "' is ";
    std::string command = json({{"shell", "true"}, {"limits", each}}).dump();
    for (const HttpResponse& refused : {call("POST", "/v1/sandboxes", limits), call("POST", "/v1/sessions", limits),
                                        call("POST", "/v1/execute", command), call("PATCH", sandbox, limits)}) {
      expect_problem(refused, 400, "invalid");
      EXPECT_THAT(refused.body, testing::HasSubstr(name));
    }
  }
}

// Flags are of the command line: whoever calls the API has none.
TEST_F(Server, SaysWhatToDoInWordsThatAreNotFlags) {
  std::string sandbox = make();
  const json no_folder = {{"argv", {"true"}}, {"cwd", "/no/such"}};
  const json too_long = {{"argv", {"echo", std::string(200'000, 'x')}}};
  for (const json& body : {no_folder, too_long}) {
    std::string said = call("POST", sandbox + "/execs?wait=true", body.dump()).body;
    EXPECT_THAT(said, testing::AnyOf(testing::HasSubstr("absolute path that exists"), testing::HasSubstr("as a file")));
    EXPECT_THAT(said, testing::Not(testing::HasSubstr("--")));
  }
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
  expect_problem(call("POST", sandbox + "/fork"), 404, "not_found");
}

TEST_F(Server, RenewsAndMeasures) {
  std::string sandbox = make({{"lifecycle", {{"max", "1m"}}}, {"limits", {{"memory", "256m"}}}});
  json renewed = call("POST", sandbox + "/renew", R"({"max":"1h"})").json();
  EXPECT_EQ(renewed["lifecycle"]["max_ms"], 3'600'000);
  run(sandbox, {{"shell", "head -c 1000000 /dev/zero > zeros"}});
  json stats = call("GET", sandbox + "/stats").json();
  EXPECT_EQ(stats["memory_limit_bytes"], 256 << 20);
  EXPECT_GE(stats["disk_bytes"], 900'000);
}

// --- the server itself -----------------------------------------------------------------------------------------------

TEST_F(Server, TellsWhatHappened) {
  json before = call("GET", "/v1/events?limit=1000").json();
  uint64_t after = before["last_seq"];
  while (!before["items"].empty()) {
    before = call("GET", "/v1/events?limit=1000&after=" + std::to_string(after)).json();
    after = before["last_seq"];
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
  EXPECT_GT(machine["capacity"]["memory_bytes"], 0);
  EXPECT_GT(call("GET", "/v1/config").json()["items"].size(), 10u);
  EXPECT_EQ(call("GET", "/v1/images").json()["items"][0]["name"], "host");
  EXPECT_GE(call("GET", "/v1/languages").json()["items"].size(), 14u);
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
  EXPECT_EQ(server.stop(), 125);
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
