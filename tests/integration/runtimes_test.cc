// Other runtimes than native, by way of the server.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

class Runtimes : public WithServer<Runtimes>, public testing::WithParamInterface<std::string> {
 public:
  static std::vector<std::string> arguments() { return {"--pool-size", "0"}; }

 protected:
  static std::string make(const json& more = json::object()) {
    json body = {{"runtime", GetParam()}};
    body.update(more);
    HttpResponse made = post("/v1/sandboxes", body);
    EXPECT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(made.json().value("runtime", ""), GetParam());
    return made.json().value("id", "none");
  }
  static std::string says(const std::string& sandbox, const std::string& shell) {
    HttpResponse ran = post("/v1/sandboxes/" + sandbox + "/execs?wait=true", {{"shell", shell}});
    EXPECT_EQ(ran.status, 200) << ran.body;
    json result = ran.json();
    return result.contains("stdout") ? result["stdout"].value("text", "") : ran.body;
  }
  static void remove(const std::string& sandbox) { EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + sandbox).status, 204); }
};

TEST_P(Runtimes, MakesUsesAndRemovesSandboxes) {
  std::string box = make({{"limits", {{"memory", "256m"}}}});
  EXPECT_EQ(says(box, "id -un; cat /proc/1/comm"), "user\ncove-init\n");
  HttpResponse put =
      fetch(server_->socket(), {"PUT", "/v1/sandboxes/" + box + "/files?path=/home/user/in", {}, "from outside"});
  EXPECT_LT(put.status, 300) << put.body;
  EXPECT_EQ(says(box, "cat in; echo from inside > out"), "from outside");
  EXPECT_EQ(call("GET", "/v1/sandboxes/" + box + "/files?path=/home/user/out").body, "from inside\n");
  json stats = call("GET", "/v1/sandboxes/" + box + "/stats").json();
  EXPECT_GT(stats.value("memory_bytes", 0), 0) << stats;
  remove(box);
  EXPECT_TRUE(comes_true([&] { return describe(find_traces()).find(box) == std::string::npos; }))
      << describe(find_traces());
}

TEST_P(Runtimes, KeepsFilesFromStopToStart) {
  std::string box = make();
  EXPECT_EQ(says(box, "echo kept > note"), "");
  EXPECT_EQ(post("/v1/sandboxes/" + box + "/stop", json::object()).status, 200);
  EXPECT_EQ(post("/v1/sandboxes/" + box + "/start", json::object()).status, 200);
  EXPECT_EQ(says(box, "cat note"), "kept\n");
  remove(box);
}

// What user inside writes belongs to the folder's owner, by whatever way the runtime makes files.
TEST_P(Runtimes, WritesToAWorkspaceAsItsOwner) {
  char folder[] = "/tmp/cove-workspace-XXXXXX";
  ASSERT_TRUE(::mkdtemp(folder));
  constexpr uid_t kOwner = 12345, kGroup = 23456;
  ASSERT_EQ(::chown(folder, is_root() ? kOwner : ::getuid(), is_root() ? kGroup : ::getgid()), 0);
  std::string box = make({{"workspace", {{"path", folder}, {"access", "rw"}}}});
  EXPECT_EQ(says(box, "echo one > f && mkdir d && echo two > d/g && cat f d/g; sudo sh -c 'echo three > h' && cat h"),
            "one\ntwo\nthree\n");
  for (const char* name : {"/f", "/d", "/d/g"}) {
    struct stat info = {};
    EXPECT_EQ(::stat((std::string(folder) + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_uid, is_root() ? kOwner : ::getuid()) << name;
    EXPECT_EQ(info.st_gid, is_root() ? kGroup : ::getgid()) << name;
  }
  remove(box);
  std::filesystem::remove_all(folder);
}

TEST_P(Runtimes, ChangesLimitsOrSaysThatItCannot) {
  json machine = call("GET", "/v1/machine").json();
  bool can = false;
  for (const json& runtime : machine["runtimes"])
    if (runtime["name"] == GetParam()) can = runtime["capabilities"].value("update_limits", false);
  std::string box = make({{"limits", {{"memory", "256m"}}}});
  json body = {{"limits", {{"memory", "300m"}}}};
  auto change = [&] {
    return fetch(server_->socket(),
                 {"PATCH", "/v1/sandboxes/" + box, {{"content-type", "application/json"}}, body.dump()});
  };
  HttpResponse changed = change();
  EXPECT_EQ(changed.status, can ? 200 : 422) << changed.body;
  EXPECT_EQ(says(box, "echo well"), "well\n");
  EXPECT_EQ(post("/v1/sandboxes/" + box + "/stop", json::object()).status, 200);
  EXPECT_EQ(change().status, 200);
  remove(box);
}

TEST_P(Runtimes, FindsSandboxesAgainAfterTheServerWasKilled) {
  std::string box = make();
  HttpResponse begun =
      post("/v1/sandboxes/" + box + "/execs", {{"shell", "echo before; read line; echo after $line; exit 9"}});
  ASSERT_EQ(begun.status, 201) << begun.body;
  std::string exec = "/v1/sandboxes/" + box + "/execs/" + begun.json().value("id", "none");
  EXPECT_TRUE(comes_true([&] { return call("GET", exec + "/output").body.find("before") != std::string::npos; }));
  server_->kill();
  server_->start_again();
  ASSERT_TRUE(server_->running()) << server_->said();
  EXPECT_EQ(call("GET", "/v1/sandboxes/" + box).json().value("state", ""), "running");
  EXPECT_EQ(fetch(server_->socket(), {"POST", exec + "/stdin", {}, "all\n"}).status, 204);
  EXPECT_TRUE(comes_true([&] { return call("GET", exec).json()["result"].is_object(); }));
  EXPECT_EQ(call("GET", exec + "/output").json()["result"]["exit_code"], 9);
  EXPECT_THAT(call("GET", exec + "/output").body, HasSubstr("after all"));
  EXPECT_EQ(says(box, "echo still here"), "still here\n");
  remove(box);
  EXPECT_TRUE(comes_true([&] { return describe(find_traces()).find(box) == std::string::npos; }))
      << describe(find_traces());
}

INSTANTIATE_TEST_SUITE_P(Oci, Runtimes, testing::Values("runc", "runsc"), [](const auto& test) { return test.param; });

TEST_F(Runtimes, SaysWhatIsWrongWithARuntime) {
  expect_refusal(post("/v1/sandboxes", {{"runtime", "runk"}}), 400, "invalid");
  EXPECT_THAT(post("/v1/sandboxes", {{"runtime", "runk"}}).body, HasSubstr("did you mean runc"));
  expect_refusal(post("/v1/sandboxes", {{"runtime", "runc"}, {"nesting", true}}), 422, "unsupported");
}

TEST_F(Runtimes, ThatCannotBeUsedAreRefusedWhenASessionStarts) {
  json machine = call("GET", "/v1/machine").json();
  for (const json& runtime : machine["runtimes"]) {
    if (runtime["available"].get<bool>()) continue;
    HttpResponse session = post("/v1/sessions", {{"runtime", runtime["name"]}});
    expect_refusal(session, 503, "unavailable");
    EXPECT_EQ(session.json().value("detail", ""), runtime.value("problem", "none"));
  }
}

TEST_F(Runtimes, AreToldWithVersionsProblemsAndWhatTheyCanDo) {
  json machine = call("GET", "/v1/machine").json();
  std::map<std::string, json> runtimes;
  for (const json& each : machine["runtimes"]) runtimes[each["name"]] = each;
  for (const char* name : {"runc", "runsc"}) {
    EXPECT_TRUE(runtimes[name]["available"].get<bool>()) << runtimes[name];
    EXPECT_THAT(runtimes[name].value("program", ""), testing::EndsWith(std::string("/") + name));
    EXPECT_NE(runtimes[name].value("version", ""), "");
    EXPECT_EQ(runtimes[name].value("problem", "none"), "");
  }
  for (const auto& [name, runtime] : runtimes)
    EXPECT_TRUE(runtime["available"].get<bool>() || !runtime.value("remedy", "").empty()) << runtime;
  EXPECT_FALSE(runtimes["runsc"]["capabilities"]["dial"].get<bool>());
  EXPECT_TRUE(runtimes["native"]["default"].get<bool>());
}

TEST_F(Runtimes, TakesARuntimeInSessionsAndCalls) {
  json result = execute({{"shell", "grep -q cove-init /proc/1/comm"}, {"runtime", "oci"}});
  EXPECT_EQ(result["status"], "success") << result;
  std::string id = start({{"runtime", "runc"}});
  EXPECT_EQ(text_in(id, "echo hello"), "hello\n");
  EXPECT_EQ(session(id)["runtime"], "runc");
  std::string box = session(id)["sandbox_id"];
  EXPECT_EQ(call("GET", "/v1/sandboxes/" + box).json()["runtime"], "runc");
}

TEST_F(Runtimes, AreNotExchangedForThatOfASandboxThatIsThere) {
  for (json place : {json{{"agent", "zz"}}, json{{"scope", "shared"}}}) {
    place["shell"] = "true";
    EXPECT_EQ(execute(place)["status"], "success");
    for (const char* runtime : {"runc", "oci"}) {
      place["runtime"] = runtime;
      HttpResponse refused = post("/v1/execute", place);
      expect_refusal(refused, 409, "conflict");
      EXPECT_THAT(refused.json()["detail"], HasSubstr("has the runtime native, and not"));
    }
    place["runtime"] = "native";
    EXPECT_EQ(execute(place)["status"], "success");
  }
}

}  // namespace
}  // namespace cove::test
