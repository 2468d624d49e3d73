// Sandboxes in containers of a real engine, as callers of the server and of the command line meet them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "integration/api_fixture.h"
#include "support/child.h"
#include "support/container_engine.h"
#include "support/server.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

// One engine and one server for all.
class EngineSandboxes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!is_root()) return;
    engine_ = std::make_unique<ContainerEngine>("podman");
    ::setenv("DOCKER_HOST", ("unix://" + engine_->socket()).c_str(), 1);
    server_ = std::make_unique<ServerUnderTest>();
  }
  static void TearDownTestSuite() {
    server_.reset();
    engine_.reset();
    ::unsetenv("DOCKER_HOST");
  }
  void SetUp() override {
    COVE_NEEDS_ROOT();
    ASSERT_TRUE(engine_->running());
    ASSERT_TRUE(server_->running()) << server_->said();
  }
  void TearDown() override {
    for (const std::string& id : made_) call("DELETE", "/v1/sandboxes/" + id);
    // A deletion is answered before all of it is gone.
    EXPECT_TRUE(comes_true([] { return containers().empty(); })) << testing::PrintToString(containers());
  }

  static HttpResponse call(const std::string& method, const std::string& target, const std::string& body = "") {
    return fetch(server_->socket(), {method, target, {}, body});
  }
  static HttpResponse post(const std::string& target, const json& body = json::object()) {
    return call("POST", target, body.dump());
  }
  static json order(json more = json::object()) {
    more.emplace("runtime", "podman");
    more.emplace("image", ContainerEngine::kImage);
    more.emplace("user", "user");
    return more;
  }
  std::string make(const json& more = json::object()) {
    HttpResponse response = post("/v1/sandboxes", order(more));
    EXPECT_EQ(response.status, 201) << response.body;
    made_.push_back(response.json().value("id", "none"));
    return "/v1/sandboxes/" + made_.back();
  }
  static json run(const std::string& sandbox, const json& body) {
    HttpResponse response = post(sandbox + "/execs?wait=true", body);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  static std::string text(const std::string& sandbox, const std::string& shell) {
    json result = run(sandbox, {{"shell", shell}});
    return result.contains("stdout") ? result["stdout"].value("text", "") : result.dump();
  }

  // What the engine has, by name.
  static std::vector<std::string> containers() {
    std::vector<std::string> names;
    for (const json& each : fetch({engine_->socket()}, {"GET", "/containers/json?all=true"}).json())
      names.push_back(each["Names"][0].get<std::string>());
    return names;
  }
  static void make_container(const std::string& name, const json& labels) {
    json body = {{"Image", ContainerEngine::kImage}, {"Cmd", {"true"}}, {"Labels", labels}};
    HttpResponse made =
        fetch({engine_->socket()},
              {"POST", "/containers/create?name=" + name, {{"content-type", "application/json"}}, body.dump()});
    EXPECT_EQ(made.status, 201) << made.body;
  }
  static void remove_container(const std::string& name) {
    fetch({engine_->socket()}, {"DELETE", "/containers/" + name + "?force=true"});
  }
  static std::string state_folder() { return server_->folder() + "/state"; }

  static std::unique_ptr<ContainerEngine> engine_;
  static std::unique_ptr<ServerUnderTest> server_;
  std::vector<std::string> made_;
};
std::unique_ptr<ContainerEngine> EngineSandboxes::engine_;
std::unique_ptr<ServerUnderTest> EngineSandboxes::server_;

TEST_F(EngineSandboxes, RunExecsAndServeFiles) {
  std::string sandbox = make();
  json made = call("GET", sandbox).json();
  EXPECT_EQ(made["runtime"], "podman");
  EXPECT_EQ(made["image"], ContainerEngine::kImage);
  json result = run(sandbox, {{"shell", "id -un; sudo id -un; cat; exit 3"}, {"stdin", "given"}});
  EXPECT_EQ(result["stdout"]["text"], "user\nroot\ngiven");
  EXPECT_EQ(result["exit_code"], 3);
  EXPECT_EQ(result["limits"]["memory"]["enforced_by"], "cgroup");
  EXPECT_EQ(call("PUT", sandbox + "/files?path=/home/user/in", "from outside").status / 100, 2);
  EXPECT_EQ(text(sandbox, "cat in; echo from inside > out"), "from outside");
  EXPECT_EQ(call("GET", sandbox + "/files?path=/home/user/out").body, "from inside\n");
  EXPECT_EQ(run(sandbox, {{"shell", "tty"}, {"pty", {{"rows", 24}, {"cols", 80}}}})["stdout"]["text"],
            "/dev/pts/0\r\n");
  EXPECT_EQ(run(sandbox, {{"language", "python"}, {"code", "print(6 * 7)"}})["stdout"]["text"], "42\n");
}

TEST_F(EngineSandboxes, PauseStopAndStartAgain) {
  std::string sandbox = make();
  EXPECT_EQ(text(sandbox, "echo kept > note; sudo sh -c 'echo kept > /etc/note'"), "");
  EXPECT_EQ(post(sandbox + "/pause").status, 200);
  EXPECT_EQ(call("GET", sandbox).json()["state"], "paused");
  EXPECT_EQ(post(sandbox + "/resume").status, 200);
  EXPECT_EQ(text(sandbox, "echo on"), "on\n");
  EXPECT_GT(call("GET", sandbox + "/stats").json()["memory_bytes"], 0);
  HttpResponse stopped = post(sandbox + "/stop");
  EXPECT_EQ(stopped.status, 200) << stopped.body;
  EXPECT_EQ(call("PATCH", sandbox, R"({"limits": {"memory": "300m"}})").status / 100, 2);
  HttpResponse started = post(sandbox + "/start");
  EXPECT_EQ(started.status, 200) << started.body;
  EXPECT_EQ(text(sandbox, "cat note /etc/note"), "kept\nkept\n");
  EXPECT_EQ(containers().size(), 1u);
  EXPECT_EQ(post(sandbox + "/pause").status, 200);
  EXPECT_EQ(call("DELETE", sandbox).status / 100, 2);
}

TEST_F(EngineSandboxes, AreAdoptedByTheNextServer) {
  std::string sandbox = make();
  std::string stopped = make();
  text(stopped, "echo kept > note");
  post(stopped + "/stop");
  HttpResponse exec =
      post(sandbox + "/execs", {{"shell", "echo before; while [ ! -e go ]; do sleep 0.05; done; echo after; exit 4"}});
  ASSERT_EQ(exec.status, 201) << exec.body;
  make_container("orphan", {{"cove.sandbox", "aaaaaaaaaaaaaaaaaaaa"}, {"cove.state", state_folder()}});
  make_container("foreign", {{"cove.sandbox", "bbbbbbbbbbbbbbbbbbbb"}, {"cove.state", "/elsewhere"}});
  make_container("nobodys", json::object());
  server_->kill();
  server_->start_again();
  ASSERT_TRUE(server_->running()) << server_->said();
  EXPECT_EQ(call("GET", sandbox).json()["state"], "running");
  EXPECT_EQ(text(sandbox, "touch go; echo still here"), "still here\n");
  json result;
  EXPECT_TRUE(comes_true([&] {
    result = call("GET", exec.headers["location"]).json();
    return result["state"] == "ended";
  })) << result.dump();
  EXPECT_EQ(result["result"]["exit_code"], 4);
  EXPECT_EQ(result["result"]["stdout"]["text"], "before\nafter\n");
  EXPECT_EQ(post(stopped + "/start").status, 200);
  EXPECT_EQ(text(stopped, "cat note"), "kept\n");
  EXPECT_TRUE(comes_true([] { return !testing::Value(containers(), testing::Contains("/orphan")); }));
  EXPECT_THAT(containers(), testing::IsSupersetOf({"/foreign", "/nobodys"}));
  remove_container("foreign");
  remove_container("nobodys");
}

TEST_F(EngineSandboxes, AreOnRecordOrGoneWhenTheServerDiesWhileItMakesThem) {
  PendingRequest asked(server_->socket(), {"POST", "/v1/sandboxes", {}, order().dump()});
  EXPECT_TRUE(comes_true([] { return !containers().empty(); }));
  server_->kill();
  server_->start_again();
  ASSERT_TRUE(server_->running()) << server_->said();
  json listed = call("GET", "/v1/sandboxes").json()["items"];
  for (const json& each : listed) made_.push_back(each["id"]);
  EXPECT_TRUE(comes_true([&] { return containers().size() == listed.size(); }));
}

TEST_F(EngineSandboxes, SayWhatIsMissing) {
  HttpResponse missing = post("/v1/sandboxes", order({{"image", "no-such-image:7"}}));
  expect_refusal(missing, 404, "not_found");
  EXPECT_THAT(missing.json()["hint"].get<std::string>(), HasSubstr("podman pull no-such-image:7"));
  HttpResponse host = post("/v1/sandboxes", {{"runtime", "podman"}});
  expect_refusal(host, 400, "invalid");
  EXPECT_THAT(host.json()["hint"].get<std::string>(), HasSubstr("--image"));
  expect_refusal(post("/v1/sandboxes", order({{"nesting", true}})), 422, "unsupported");
}

TEST_F(EngineSandboxes, WorkInAWorkspace) {
  std::string folder = server_->folder() + "/project";
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::chown(folder.c_str(), 1234, 1234), 0);
  std::ofstream(folder + "/given") << "given\n";
  std::string sandbox = make({{"workspace", {{"path", folder}, {"access", "rw"}}}});
  EXPECT_EQ(text(sandbox, "pwd; cat given; echo made > made; id -u"), "/workspace\ngiven\n1234\n");
  EXPECT_TRUE(std::filesystem::exists(folder + "/made"));
  std::string reader = make({{"workspace", {{"path", folder}, {"access", "ro"}}}});
  EXPECT_NE(run(reader, {{"shell", "echo no > made"}})["exit_code"], 0);
}

TEST_F(EngineSandboxes, RunFromTheCommandLineWithoutAServer) {
  ChildOptions options{.env = {"COVE_STATE=" + state_folder() + "-direct", "DOCKER_HOST=unix://" + engine_->socket()}};
  Outcome ran = cove({"run", "--direct", "--runtime", "podman", "--image", ContainerEngine::kImage, "-u", "user", "--",
                      "sh", "-c", "id -un; exit 5"},
                     options);
  EXPECT_EQ(ran.out, "user\n") << ran.err;
  EXPECT_EQ(ran.exit_code, 5);
  Outcome elsewhere = cove({"run", "--direct", "--runtime", "docker", "--image", "x", "--", "true"},
                           {.env = {"COVE_STATE=" + state_folder() + "-direct", "DOCKER_HOST=tcp://127.0.0.1:2375"}});
  EXPECT_EQ(elsewhere.exit_code, 125);
  EXPECT_THAT(elsewhere.err, HasSubstr("only use an engine on this machine"));
}

}  // namespace
}  // namespace cove::test
