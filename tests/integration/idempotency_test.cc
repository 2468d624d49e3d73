// A request that is sent again with its Idempotency-Key: through restarts, kills, and by several callers at once.
#include <thread>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

class Idempotency : public WithServer<Idempotency> {
 public:
  static std::vector<std::string> arguments() { return {}; }

 protected:
  void TearDown() override {
    if (server_ && server_->running()) remove_all();
  }
  static HttpResponse once(const std::string& key, const std::string& target, const json& body,
                           const std::string& project = "default") {
    return call("POST", target, body, {{"idempotency-key", key}, {"cove-project", project}});
  }
  static std::string make() { return post("/v1/sandboxes", json::object()).json().value("id", "none"); }
  static bool replayed(const HttpResponse& response) { return response.headers.contains("idempotent-replayed"); }
  static void begin_again(const std::string& crash_at = "") {
    ASSERT_EQ(server_->stop(), 0);
    server_->start_again(crash_at);
    ASSERT_TRUE(server_->running()) << server_->said();
  }
  static void recover() {
    server_->wait();
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
  }
};

TEST_F(Idempotency, AnswersSurviveARestartAndAKill) {
  struct Case {
    std::string target;
    json body;
  };
  const std::string sandbox = make();
  const std::string session = start();
  const std::vector<Case> cases = {
      {"/v1/sandboxes", {{"name", "once"}}},
      {"/v1/sandboxes/" + sandbox + "/execs?wait=true", {{"shell", "echo x >> f; cat f"}}},
      {"/v1/sandboxes/" + sandbox + "/execs", {{"shell", "echo y >> g"}}},
      {"/v1/sessions", {{"agent", "once"}}},
      {"/v1/sessions/" + session + "/execs?wait=true", {{"shell", "echo z >> h; cat h"}}},
      {"/v1/execute", {{"shell", "date +%N"}}},
      {"/v1/projects", {{"id", "once"}}},
  };
  std::vector<json> answers;
  for (const Case& each : cases) {
    HttpResponse answer = once("k" + each.target, each.target, each.body);
    EXPECT_LT(answer.status, 300) << each.target << answer.body;
    EXPECT_FALSE(replayed(answer));
    answers.push_back(answer.json());
  }
  for (bool by_force : {false, true}) {
    if (by_force)
      server_->kill();
    else
      EXPECT_EQ(server_->stop(), 0);
    server_->start_again();
    ASSERT_TRUE(server_->running()) << server_->said();
    for (size_t i = 0; i < cases.size(); ++i) {
      HttpResponse answer = once("k" + cases[i].target, cases[i].target, cases[i].body);
      EXPECT_TRUE(replayed(answer)) << cases[i].target;
      EXPECT_EQ(answer.json(), answers[i]) << cases[i].target;
      json other = {{"labels", {{"other", "1"}}}};
      expect_refusal(once("k" + cases[i].target, cases[i].target, other), 409, "idempotency_mismatch");
    }
  }
  call("DELETE", "/v1/projects/once");
}

TEST_F(Idempotency, ASecretIsShownOnce) {
  const json body = {{"name", "secret"}, {"scopes", {"read"}}};
  json first = once("secret", "/v1/keys", body).json();
  EXPECT_TRUE(first["key"].is_string());
  HttpResponse again = once("secret", "/v1/keys", body);
  EXPECT_TRUE(replayed(again));
  EXPECT_TRUE(again.json()["key"].is_null());
  EXPECT_EQ(again.json()["id"], first["id"]);
  const std::string sandbox = make();
  const json wish = {{"scopes", {"read"}}};
  EXPECT_TRUE(once("token", "/v1/sandboxes/" + sandbox + "/tokens", wish).json()["token"].is_string());
  EXPECT_TRUE(once("token", "/v1/sandboxes/" + sandbox + "/tokens", wish).json()["token"].is_null());
}

// The sandbox is recorded together with the key: whenever the server is killed, there is one or none.
TEST_F(Idempotency, ASandboxThatIsCutOffIsMadeOnce) {
  for (const char* point :
       {"engine.create.built", "store.insert_sandbox.before_commit", "store.insert_sandbox.after_commit",
        "engine.create.recorded", "store.put_idempotency.before_commit", "store.put_idempotency.after_commit"}) {
    SCOPED_TRACE(point);
    begin_again(point);
    EXPECT_EQ(once(point, "/v1/sandboxes", {{"name", "cut"}}).status, 0) << "the server was to be killed";
    recover();
    HttpResponse made = once(point, "/v1/sandboxes", {{"name", "cut"}});
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(count_sandboxes(), 1u);
    EXPECT_EQ(call("DELETE", "/v1/sandboxes/cut").status, 204);
  }
}

TEST_F(Idempotency, AnExecThatIsCutOffIsNotStartedAgain) {
  const std::string execs = "/v1/sandboxes/" + make() + "/execs?wait=true";
  const json body = {{"shell", "echo x >> f; sleep 3; cat f"}, {"on_disconnect", "keep"}};
  std::thread first([&] { EXPECT_EQ(once("cut", execs, body).status, 0); });
  EXPECT_TRUE(comes_true([&] { return call("GET", execs.substr(0, execs.find('?'))).json()["items"].size() == 1; }));
  ::usleep(200'000);  // from the record of the exec to that of the key there is no step to be seen
  server_->kill();
  first.join();
  server_->start_again();
  ASSERT_TRUE(server_->running()) << server_->said();
  HttpResponse again = once("cut", execs, body);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.json()["stdout"]["text"], "x\n") << again.body;
}

TEST_F(Idempotency, WhatIsNotKnownIsSaid) {
  begin_again("store.insert_session.after_commit");
  EXPECT_EQ(once("lost", "/v1/sessions", {{"agent", "lost"}}).status, 0) << "the server was to be killed";
  recover();
  expect_refusal(once("lost", "/v1/sessions", {{"agent", "lost"}}), 409, "idempotency_unfinished");
}

TEST_F(Idempotency, CallersAtTheSameTimeMakeOneThing) {
  const std::string execs = "/v1/sandboxes/" + make() + "/execs?wait=true";
  std::vector<json> answers(8);
  std::vector<std::thread> callers;
  for (json& answer : answers)
    callers.emplace_back([&] { answer = once("many", execs, {{"shell", "echo x >> m; sleep 0.2; cat m"}}).json(); });
  for (std::thread& caller : callers) caller.join();
  for (const json& answer : answers) EXPECT_EQ(answer, answers[0]);
  EXPECT_EQ(answers[0]["stdout"]["text"], "x\n") << answers[0];
}

TEST_F(Idempotency, KeysAreAProjects) {
  ASSERT_EQ(post("/v1/projects", {{"id", "other"}}).status, 201);
  const json body = {{"start", false}};
  json mine = once("same", "/v1/sandboxes", body).json();
  HttpResponse other = once("same", "/v1/sandboxes", body, "other");
  EXPECT_EQ(other.status, 201);
  EXPECT_FALSE(replayed(other));
  EXPECT_NE(other.json()["id"], mine["id"]);
  const std::string id = other.json().value("id", "none");
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id, nullptr, {{"cove-project", "other"}}).status, 204);
  EXPECT_EQ(call("DELETE", "/v1/projects/other").status, 204);
}

// Whoever may not use a sandbox is not told what others did there with the same key.
TEST_F(Idempotency, ATokenGetsNoAnswerOfAnotherSandbox) {
  const std::string one = "/v1/sandboxes/" + make(), two = "/v1/sandboxes/" + make();
  const std::string token = post(two + "/tokens", {{"scopes", {"run"}}}).json().value("token", "");
  const json body = {{"argv", {"echo", "private"}}};
  EXPECT_EQ(once("key", one + "/execs?wait=true", body).status, 200);
  HttpResponse stolen = fetch(server_->tcp(), {"POST",
                                               one + "/execs?wait=true",
                                               {{"authorization", "Bearer " + token}, {"idempotency-key", "key"}},
                                               body.dump()});
  EXPECT_GE(stolen.status, 400) << stolen.body;
  EXPECT_EQ(stolen.body.find("private"), std::string::npos);
}

}  // namespace
}  // namespace cove::test
