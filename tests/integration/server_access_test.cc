// The server's API as its callers meet it: who may call it, for what.
#include "integration/server_fixture.h"
#include "support/child.h"

namespace cove::test {
namespace {

using ServerAccess = Server;
using Words = std::vector<std::string>;

TEST_F(ServerAccess, WantsAKeyOverTcp) {
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

TEST_F(ServerAccess, MindsHostsAndOrigins) {
  HeaderMap key = bearer(make_key({"run"}));
  HeaderMap host = key;
  host["host"] = "evil.example";
  expect_problem(over_tcp("GET", "/v1/sandboxes", host), 403, "denied");
  HeaderMap origin = key;
  origin["origin"] = "http://evil.example";
  expect_problem(over_tcp("POST", "/v1/sandboxes", origin, "{}"), 403, "denied");
  EXPECT_EQ(over_tcp("GET", "/v1/sandboxes", origin).status, 200);
}

TEST_F(ServerAccess, GivesTokensForOneSandbox) {
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
  expect_problem(post(sandbox + "/tokens", {{"scopes", {"admin"}}}), 400, "invalid");
  expect_problem(post(sandbox + "/tokens", json::object()), 400, "invalid");
}

TEST_F(ServerAccess, SignsUrlsOfFiles) {
  std::string sandbox = make();
  call("PUT", sandbox + "/files?path=a%20b", "signed");
  std::string url = post(sandbox + "/tokens", {{"file", {{"path", "a b"}}}, {"ttl", "60s"}}).json()["url"];
  EXPECT_EQ(over_tcp("GET", url, {}).body, "signed");
  EXPECT_EQ(over_tcp("PUT", url, {}, "x").status, 403);
  std::string upload = post(sandbox + "/tokens", {{"file", {{"path", "up"}, {"method", "PUT"}}}}).json()["url"];
  EXPECT_EQ(over_tcp("PUT", upload, {}, "up").status, 201);
  EXPECT_EQ(call("GET", sandbox + "/files?path=up").body, "up");
}

TEST_F(ServerAccess, KeepsProjectsApart) {
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
  EXPECT_EQ(call("PATCH", "/v1/projects/web", R"({"quotas":{"sandboxes":2}})").json()["quotas"]["memory_bytes"],
            4ull << 30);
  expect_problem(call("DELETE", "/v1/projects/web"), 409, "conflict");
  expect_problem(call("DELETE", "/v1/projects/default"), 409, "conflict");
  HeaderMap key = bearer(make_key({"admin"}));
  EXPECT_EQ(over_tcp("GET", "/v1/projects", key).json()["items"].size(), 1u);
  expect_problem(over_tcp("GET", "/v1/projects/web", key), 404, "not_found");
  expect_problem(over_tcp("POST", "/v1/projects", key, R"({"id":"x"})"), 403, "denied");
  EXPECT_EQ(call("DELETE", path, "", inside).status, 204);
  EXPECT_EQ(call("DELETE", "/v1/projects/web").status, 204);
  expect_problem(call("GET", "/v1/sandboxes", "", inside), 404, "not_found");
}

// A folder that is shown to a sandbox may have the socket in it, and the sandbox its caller's user id.
TEST_F(Server, IsNotForProgramsBelowAtItsSocket) {
  const std::string ask = R"(
import http.client, socket, sys
class Line(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(sys.argv[1])
line = Line('localhost')
line.request('GET', '/v1/sandboxes')
answer = line.getresponse()
print(answer.status, answer.read().decode())
)";
  Words words = {"python3", "-c", ask, server_->socket().path};
  EXPECT_THAT(test::run(words).out, testing::StartsWith("200 "));
  words.insert(words.begin(), {"unshare", "--user", "--map-current-user", "--pid", "--fork"});
  EXPECT_THAT(test::run(words).out, testing::StartsWith("403 "));
  // Nor for one that has left its connection to another and gone.
  const std::string gone = R"(
import os, socket, sys, time
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
opener = os.getpid()
if os.fork(): os._exit(0)
try:
  while True: os.kill(opener, 0), time.sleep(0.01)
except ProcessLookupError: pass
line.sendall(b'GET /v1/sandboxes HTTP/1.1\r\nHost: l\r\nConnection: close\r\n\r\n')
print(line.recv(65536).decode())
)";
  Words orphan = {
      "unshare", "--user", "--map-current-user",  "--pid", "--fork", "sh", "-c", "python3 -c \"$1\" $2; sleep 1",
      "sh",      gone,     server_->socket().path};
  EXPECT_THAT(test::run(orphan).out, testing::StartsWith("HTTP/1.1 403 "));
}

TEST_F(Server, CountsASandboxWithoutALimitAsTheWholeMachine) {
  ASSERT_EQ(post("/v1/projects", {{"id", "small"}, {"quotas", {{"memory", 1 << 30}}}}).status, 201);
  HeaderMap inside = {{"cove-project", "small"}};
  const std::string unlimited = R"({"limits":{"memory":0},"start":false})";
  expect_problem(call("POST", "/v1/sandboxes", unlimited, inside), 429, "exhausted");
  EXPECT_EQ(call("DELETE", "/v1/projects/small").status, 204);
  // Nor can anybody but a person at the machine do without those that protect it.
  HeaderMap key = bearer(make_key({"run"}));
  for (const char* limit : {"cpus", "memory", "processes"}) {
    const std::string without = json({{"limits", {{limit, 0}}}, {"start", false}}).dump();
    expect_problem(over_tcp("POST", "/v1/sandboxes", key, without), 403, "denied");
    expect_problem(over_tcp("POST", "/v1/execute", key, json({{"argv", {"true"}}, {"limits", {{limit, 0}}}}).dump()),
                   403, "denied");
    HttpResponse made = call("POST", "/v1/sandboxes", without);
    EXPECT_EQ(made.status, 201) << made.body;
    std::string path = "/v1/sandboxes/" + made.json()["id"].get<std::string>();
    expect_problem(over_tcp("PATCH", path, key, without.substr(0, without.find(",\"start")) + "}"), 403, "denied");
    EXPECT_EQ(call("DELETE", path).status, 204);
  }
}

TEST_F(Server, HoldsQuotasAgainstChangesOfLimits) {
  json quotas = {{"memory", 2ull << 30}, {"disk", 4ull << 30}};
  ASSERT_EQ(post("/v1/projects", {{"id", "tight"}, {"quotas", quotas}}).status, 201);
  HeaderMap inside = {{"cove-project", "tight"}};
  auto usage = [&](const char* what) { return call("GET", "/v1/projects/tight").json()["usage"][what]; };
  auto make_one = [&](const std::string& name) {
    json order = {{"name", name}, {"limits", {{"memory", "512m"}, {"disk", "1g"}}}};
    EXPECT_EQ(call("POST", "/v1/sandboxes", order.dump(), inside).status, 201);
    return "/v1/sandboxes/" + name;
  };
  const std::string one = make_one("one"), two = make_one("two");
  auto change = [&](const char* limits) { return call("PATCH", two, limits, inside); };
  expect_problem(change(R"({"limits":{"memory":"1600m"}})"), 429, "exhausted");
  EXPECT_EQ(usage("memory_bytes"), 1ull << 30);
  // Refused as a whole: the memory is what it was, for the sandbox and for the quota.
  expect_problem(change(R"({"name":"one","limits":{"memory":"128m"}})"), 409, "exists");
  EXPECT_EQ(usage("memory_bytes"), 1ull << 30);
  json order = {{"argv", {"python3", "-c", "print(len(bytearray(300 << 20)))"}}};
  EXPECT_EQ(call("POST", two + "/execs?wait=true", order.dump(), inside).json()["status"], "success");
  EXPECT_EQ(change(R"({"limits":{"memory":"1536m"}})").status, 200);
  EXPECT_EQ(usage("memory_bytes"), 2ull << 30);
  EXPECT_EQ(change(R"({"limits":{"memory":"256m"}})").status, 200);
  EXPECT_EQ(usage("memory_bytes"), 768ull << 20);
  EXPECT_EQ(call("POST", two + "/stop", "", inside).status, 200);
  // A stopped one needs no memory before it is started.
  EXPECT_EQ(change(R"({"limits":{"memory":"1800m"}})").status, 200);
  EXPECT_EQ(usage("memory_bytes"), 512ull << 20);
  expect_problem(call("POST", two + "/start", "", inside), 429, "exhausted");
  expect_problem(change(R"({"limits":{"disk":"3500m"}})"), 429, "exhausted");
  EXPECT_EQ(change(R"({"limits":{"disk":"3g"}})").status, 200);
  EXPECT_EQ(usage("disk_bytes"), 4ull << 30);
  for (const std::string& sandbox : {one, two}) EXPECT_EQ(call("DELETE", sandbox, "", inside).status, 204);
  EXPECT_EQ(usage("disk_bytes"), 0);
  EXPECT_EQ(usage("memory_bytes"), 0);
  EXPECT_EQ(call("DELETE", "/v1/projects/tight").status, 204);
}

}  // namespace
}  // namespace cove::test
