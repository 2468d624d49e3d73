// What holds for all requests: parameters, fields, conditions, filters.
#include <set>

#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

class ApiRules : public Server {
 protected:
  void SetUp() override {
    COVE_NEEDS_ROOT();
    Server::SetUp();
  }
  static std::string tag_of(const HttpResponse& response) {
    auto tag = response.headers.find("etag");
    return tag == response.headers.end() ? "" : tag->second;
  }
  static std::vector<json> events(const std::string& query) {
    HttpResponse response = call("GET", "/v1/events?limit=1000" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json()["items"].get<std::vector<json>>();
  }
  static std::set<std::string> kinds(const std::string& query) {
    std::set<std::string> kinds;
    for (const json& event : events(query)) kinds.insert(event["kind"].get<std::string>());
    return kinds;
  }
};

TEST_F(ApiRules, UnknownQueryParametersAreRefusedByName) {
  std::string sandbox = make({{"start", false}});
  for (const auto& [method, target] :
       std::vector<std::pair<std::string, std::string>>{{"GET", "/v1/sandboxes?limt=1"},
                                                        {"GET", sandbox + "?limt=1"},
                                                        {"DELETE", sandbox + "?limt=1"},
                                                        {"POST", sandbox + "/execs?wait=true&limt=1"},
                                                        {"GET", "/v1/events?limt=1"},
                                                        {"POST", "/v1/execute?limt=1"},
                                                        {"GET", "/metrics?limt=1"}}) {
    HttpResponse refused = call(method, target, method == "POST" ? R"({"shell": "true"})" : "");
    expect_problem(refused, 400, "invalid");
    EXPECT_THAT(refused.json()["detail"], HasSubstr("'limt'")) << target;
  }
  expect_problem(call("GET", "/v1/sandboxes?limit=1&limit=2"), 400, "invalid");
  EXPECT_EQ(call("GET", "/v1/sandboxes?label=a%3D1&label=b%3D2").status, 200);
  EXPECT_EQ(call("GET", sandbox).status, 200) << "it was not deleted";
}

TEST_F(ApiRules, FieldsThatAreThereTwiceAreRefused) {
  HttpResponse refused = call("POST", "/v1/sandboxes", R"({"name": "a", "name": "b"})");
  expect_problem(refused, 400, "invalid");
  EXPECT_THAT(refused.json()["detail"], HasSubstr("'name'"));
  expect_problem(call("POST", "/v1/sandboxes", R"({"limits": {"memory": "1g", "memory": "2g"}})"), 400, "invalid");
}

TEST_F(ApiRules, FilesAreWrittenOnlyAsTheConditionsSay) {
  std::string sandbox = make();
  const std::string file = sandbox + "/files?path=note";
  EXPECT_EQ(call("PUT", file, "one", {{"if-match", "*"}}).status, 412) << "there is none yet";
  EXPECT_EQ(call("PUT", file, "one", {{"if-none-match", "*"}}).status, 201);
  EXPECT_EQ(call("PUT", file, "two", {{"if-none-match", "*"}}).status, 412);
  HttpResponse read = call("GET", file);
  EXPECT_EQ(read.body, "one");
  const std::string tag = tag_of(read);
  EXPECT_EQ(call("GET", file, "", {{"if-none-match", tag}}).status, 304);
  EXPECT_EQ(call("GET", file, "", {{"if-match", "\"other\""}}).status, 412);
  EXPECT_EQ(call("PUT", file, "three", {{"if-match", tag}}).status, 200);
  EXPECT_NE(tag_of(call("GET", file)), tag);
  expect_problem(call("PUT", file, "four", {{"if-match", tag}}), 412, "precondition");
  EXPECT_EQ(call("DELETE", file, "", {{"if-match", tag}}).status, 412);
  EXPECT_EQ(call("GET", file, "", {{"if-none-match", tag}}).body, "three");
  EXPECT_EQ(call("DELETE", file, "", {{"if-match", tag_of(call("GET", file))}}).status, 204);
}

TEST_F(ApiRules, SandboxesAreChangedOnlyAsTheConditionsSay) {
  std::string sandbox = make();
  const std::string tag = tag_of(call("GET", sandbox));
  ASSERT_NE(tag, "");
  run(sandbox, {{"shell", "true"}});
  EXPECT_EQ(call("GET", sandbox, "", {{"if-none-match", tag}}).status, 304) << "its use changes nothing of it";
  HttpResponse changed = call("PATCH", sandbox, R"({"labels": {"a": "1"}})", {{"if-match", tag}});
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_NE(tag_of(changed), tag);
  expect_problem(call("PATCH", sandbox, R"({"labels": {"a": "2"}})", {{"if-match", tag}}), 412, "precondition");
  expect_problem(call("DELETE", sandbox, "", {{"if-match", tag}}), 412, "precondition");
  EXPECT_EQ(call("GET", sandbox).json()["labels"]["a"], "1");
  EXPECT_EQ(call("DELETE", sandbox, "", {{"if-match", tag_of(changed)}}).status, 204);
}

TEST_F(ApiRules, ConditionsAreRefusedWhereNothingHasATag) {
  std::string sandbox = make({{"start", false}});
  for (const char* header : {"if-match", "if-none-match"}) {
    HttpResponse refused = call("POST", sandbox + "/start", "{}", {{header, "\"x\""}});
    expect_problem(refused, 400, "invalid");
    EXPECT_EQ(call("GET", sandbox).json()["state"], "stopped");
  }
}

TEST_F(ApiRules, EventsAreFiltered) {
  std::string sandbox = make(), other = make();
  const std::string id = sandbox.substr(sandbox.rfind('/') + 1);
  run(sandbox, {{"shell", "true"}});
  run(other, {{"shell", "true"}});
  std::string session = post("/v1/sessions", {{"agent", "filtered"}}).json()["id"];
  EXPECT_EQ(post("/v1/sessions/" + session + "/execs?wait=true", {{"shell", "true"}}).status, 200);

  EXPECT_EQ(kinds("&type=exec.ended"), std::set<std::string>{"exec.ended"});
  EXPECT_EQ(kinds("&type=exec"), (std::set<std::string>{"exec.ended", "exec.started"}));
  EXPECT_EQ(kinds("&type=exec.ended&type=sandbox.created"), (std::set<std::string>{"exec.ended", "sandbox.created"}));
  EXPECT_EQ(events("&type=exec.ended&sandbox=" + id).size(), 1u);
  for (const json& event : events("&sandbox=" + id)) EXPECT_EQ(event["sandbox_id"], id);
  for (const std::string& filter : {"&session=" + session, std::string("&agent=filtered")}) {
    EXPECT_EQ(events("&type=exec.ended" + filter).size(), 1u);
    EXPECT_TRUE(kinds(filter).contains("session.started"));
    for (const json& event : events(filter)) EXPECT_EQ(event["data"]["session"], session);
  }
  EXPECT_TRUE(events("&since=2999-01-01T00:00:00Z").empty());
  EXPECT_TRUE(events("&until=2000-01-01T00:00:00Z").empty());
  EXPECT_EQ(events("&since=2000-01-01T00:00:00Z&until=2999-01-01T00:00:00Z&type=exec.ended").size(),
            events("&type=exec.ended").size());
  // Where the filter leaves out all that is new, the next request does not look at it again.
  EXPECT_GT(call("GET", "/v1/events?type=exec.ended&sandbox=nosuch").json()["last_seq"], 0);
  expect_problem(call("GET", "/v1/events?since=yesterday"), 400, "invalid");
  expect_problem(call("GET", "/v1/events?type=EXEC"), 400, "invalid");
  call("DELETE", "/v1/sessions/" + session);
}

TEST_F(ApiRules, FollowedEventsAreFiltered) {
  std::string sandbox = make();
  HttpStream stream(socket(), {"GET",
                               "/v1/events?type=exec.ended&sandbox=" + sandbox.substr(sandbox.rfind('/') + 1),
                               {{"accept", "text/event-stream"}},
                               ""});
  ASSERT_EQ(stream.status(), 200);
  run(sandbox, {{"shell", "exit 3"}});
  auto event = stream.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "exec.ended");
  EXPECT_EQ(event->data["data"]["exit_code"], 3);
}

TEST_F(ApiRules, UsageIsFiltered) {
  std::string sandbox = make();
  const std::string id = sandbox.substr(sandbox.rfind('/') + 1);
  for (int i = 0; i < 3; ++i) run(sandbox, {{"shell", "true"}});
  std::string session = post("/v1/sessions", {{"agent", "frugal"}}).json()["id"];
  EXPECT_EQ(post("/v1/sessions/" + session + "/execs?wait=true", {{"shell", "true"}}).status, 200);
  auto execs = [](const std::string& query) { return call("GET", "/v1/usage" + query).json()["totals"]["execs"]; };
  EXPECT_EQ(execs("?sandbox=" + id), 3);
  EXPECT_EQ(execs("?session=" + session), 1);
  EXPECT_EQ(execs("?agent=frugal"), 1);
  EXPECT_EQ(execs("?until=2000-01-01T00:00:00Z"), 0);
  EXPECT_GE(execs("").get<int>(), 4);
  call("DELETE", "/v1/sessions/" + session);
}

}  // namespace
}  // namespace cove::test
