// What outlives what it belongs to: execs their sandbox, operations and usage the server.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "integration/server_fixture.h"

namespace cove::test {
namespace {

namespace fs = std::filesystem;

class Retention : public testing::Test {
 protected:
  void serve(std::vector<std::string> args = {}) {
    server_.emplace(std::move(args));
    ASSERT_TRUE(server_->running()) << server_->said();
  }
  HttpResponse call(const std::string& method, const std::string& target, const json& body = nullptr,
                    HeaderMap headers = {}) {
    headers.emplace("content-type", "application/json");
    return fetch(server_->socket(), {method, target, std::move(headers), body.is_null() ? "" : body.dump()});
  }
  std::string make(const json& body = json::object()) {
    HttpResponse made = call("POST", "/v1/sandboxes", body);
    EXPECT_EQ(made.status, 201) << made.body;
    return made.json().value("id", "");
  }
  // Of a sandbox that is gone afterwards; the path of the exec.
  std::string run_and_delete(const std::string& name = "") {
    const std::string id = make(name.empty() ? json::object() : json{{"name", name}});
    json result = call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", {{"shell", "echo kept; exit 3"}}).json();
    EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204);
    return "/v1/sandboxes/" + id + "/execs/" + result.value("exec_id", "");
  }
  fs::path logs() const { return fs::path(server_->folder()) / "state/server/logs"; }

  std::optional<ServerUnderTest> server_;
};

TEST_F(Retention, AnExecIsFoundByTheIdOfItsSandboxWhenThatIsGone) {
  serve();
  const std::string exec = run_and_delete("named");
  const std::string sandbox = exec.substr(0, exec.find("/execs"));
  auto look = [&] {
    json found = call("GET", exec).json();
    EXPECT_EQ(found["state"], "ended");
    EXPECT_EQ(found["result"]["exit_code"], 3) << found;
    json output = call("GET", exec + "/output").json();
    EXPECT_EQ(output["chunks"][0]["text"], "kept\n") << output;
    EXPECT_EQ(output["ended"], true);
    EXPECT_EQ(call("GET", sandbox + "/execs").json()["items"].size(), 1u);
  };
  look();
  EXPECT_EQ(call("GET", sandbox).status, 404);
  EXPECT_EQ(call("POST", sandbox + "/execs", {{"shell", "true"}}).status, 404);
  EXPECT_EQ(call("GET", "/v1/sandboxes/named/execs").status, 404);
  EXPECT_EQ(call("GET", sandbox + "/execs/nosuchthing000000000").status, 404);
  ASSERT_EQ(call("POST", "/v1/projects", {{"id", "other"}}).status, 201);
  EXPECT_EQ(call("GET", exec, nullptr, {{"cove-project", "other"}}).status, 404);
  server_->kill();
  server_->start_again();
  look();
}

TEST_F(Retention, WithNoneAnExecGoesWithItsSandbox) {
  serve({"--retention-execs", "0"});
  const std::string exec = run_and_delete();
  EXPECT_EQ(call("GET", exec).status, 404);
  EXPECT_EQ(call("GET", exec + "/output").status, 404);
  EXPECT_TRUE(fs::is_empty(logs()));
}

TEST_F(Retention, AtItsEndTheyAreRemovedAlsoByTheNextServer) {
  serve({"--retention-execs", "1ms"});
  const std::string exec = run_and_delete();
  server_->stop();
  server_->start_again();
  EXPECT_TRUE(comes_true([&] { return call("GET", exec).status == 404 && fs::is_empty(logs()); }));
  EXPECT_EQ(call("GET", "/v1/usage").json()["logs_bytes"], 0);
  EXPECT_EQ(call("GET", "/v1/usage").json()["totals"]["execs"], 1) << "usage stays";
}

TEST_F(Retention, OperationsAreFoundAfterARestart) {
  if (::geteuid() != 0) GTEST_SKIP() << "records a folder of another user";
  serve();
  char name[] = "/var/tmp/cove-retention-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string id = make({{"workspace", {{"path", name}, {"access", "review"}}}});
  const fs::path bases = fs::path(server_->folder()) / "state/server/bases";
  EXPECT_TRUE(fs::exists(bases / id / "base"));
  json listed = call("GET", "/v1/operations?kind=record_workspace&state=succeeded").json();
  ASSERT_EQ(listed["items"].size(), 1u) << listed;
  EXPECT_EQ(listed["items"][0]["target"], name);
  EXPECT_EQ(listed["items"][0]["result"]["sandbox_id"], id);
  EXPECT_EQ(listed["next"], nullptr);
  server_->stop();
  // Where an earlier server kept it.
  fs::create_directories(logs() / id);
  fs::rename(bases / id, logs() / id / "base");
  struct stat owner = {};
  ASSERT_EQ(::stat(bases.c_str(), &owner), 0);
  ASSERT_EQ(::chown((logs() / id).c_str(), owner.st_uid, owner.st_gid), 0);
  server_->start_again();
  EXPECT_TRUE(fs::exists(bases / id / "base"));
  EXPECT_FALSE(fs::exists(logs() / id / "base"));
  EXPECT_EQ(call("GET", "/v1/operations?kind=record_workspace").json()["items"].size(), 1u);
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204);
  EXPECT_FALSE(fs::exists(bases / id));
  fs::remove_all(name);
}

TEST_F(Retention, ImagesNeedTheScopeManage) {
  serve();
  auto key = [&](const char* scope) {
    json made = call("POST", "/v1/keys", {{"name", scope}, {"scopes", {scope}}}).json();
    return HeaderMap{{"authorization", "Bearer " + made.value("key", "")}, {"content-type", "application/json"}};
  };
  auto over_tcp = [&](const HeaderMap& headers, const std::string& method, const std::string& target,
                      const std::string& body) {
    return fetch(server_->tcp(), {method, target, headers, body}).status;
  };
  for (const char* scope : {"read", "run", "manage", "secrets", "approve"}) {
    const bool manages = scope == std::string("manage"), runs = scope == std::string("run");
    HeaderMap headers = key(scope);
    EXPECT_EQ(over_tcp(headers, "GET", "/v1/sandboxes", ""), 200) << scope;
    EXPECT_EQ(over_tcp(headers, "POST", "/v1/images/prune", "{}"), manages ? 200 : 403) << scope;
    EXPECT_EQ(over_tcp(headers, "DELETE", "/v1/operations/none", ""), manages ? 404 : 403) << scope;
    EXPECT_EQ(over_tcp(headers, "POST", "/v1/sandboxes/none/start", "{}"), runs ? 404 : 403) << scope;
    EXPECT_EQ(over_tcp(headers, "GET", "/v1/keys", ""), 403) << scope;
  }
}

}  // namespace
}  // namespace cove::test
