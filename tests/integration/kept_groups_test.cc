// Control groups that serve one sandbox after the other: nobody can tell, and none is left over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "support/server.h"

namespace cove::test {
namespace {

using nlohmann::json;
using testing::IsEmpty;
using namespace std::chrono_literals;

// Of the sandbox with that id, in whatever hierarchies.
std::set<std::string> groups_of(const std::string& id) {
  std::set<std::string> found;
  auto skip = std::filesystem::directory_options::skip_permission_denied;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at("/sys/fs/cgroup", skip, error), end; !error && at != end;
       at.increment(error))
    if (at->is_directory(error) && at->path().filename().string().find(id) != std::string::npos)
      found.insert(at->path());
  return found;
}

class KeptGroups : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user has no such groups";
    ASSERT_TRUE(server_.running()) << server_.said();
  }

  HttpResponse call(const std::string& method, const std::string& target, const json& body = json::object()) {
    return fetch(server_.socket(), {method, target, {{"content-type", "application/json"}}, body.dump()});
  }
  std::string make(const json& body = json::object()) {
    HttpResponse response = call("POST", "/v1/sandboxes", body);
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json().value("id", "none");
  }
  json run(const std::string& id, const json& argv) {
    HttpResponse response = call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", {{"argv", argv}});
    EXPECT_EQ(response.status, 200) << response.body;
    return response.json();
  }
  void remove(const std::string& id) { EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204); }
  // One sandbox after the other, until the groups of `id` have another name: somebody uses them.
  std::string make_until_used(const std::string& id) {
    std::string next = make();
    for (int i = 0; i < 20 && !groups_of(id).empty(); ++i) next = make();
    return next;
  }
  bool becomes_free_of(const std::string& id) {
    for (int i = 0; i < 100 && !groups_of(id).empty(); ++i) std::this_thread::sleep_for(100ms);
    return groups_of(id).empty();
  }

  ServerUnderTest server_{{"--pool-size", "0"}};
};

TEST_F(KeptGroups, TellNothingOfTheOneBefore) {
  const std::string first = make();
  json used = run(first, {"python3", "-c", "x = bytearray(64 << 20)\nfor i in range(3_000_000): pass"});
  ASSERT_GT(used["usage"].value("memory_peak_bytes", 0), 64 << 20);
  ASSERT_GT(used["usage"].value("cpu_user_ms", 0), 50);
  remove(first);
  json next = run(make_until_used(first), {"true"});
  EXPECT_LT(next["usage"].value("memory_peak_bytes", 1 << 30), 16 << 20);
  EXPECT_LT(next["usage"].value("cpu_user_ms", 1000) + next["usage"].value("cpu_system_ms", 1000), 50);
  EXPECT_EQ(next["usage"].value("processes_peak", 0), 1);
}

TEST_F(KeptGroups, AreNamedAlike) {
  auto name_in = [this](const std::string& id) {
    std::string text = run(id, {"cat", "/proc/self/cgroup"})["stdout"].value("text", "");
    while (text.find(id) != std::string::npos) text.replace(text.find(id), id.size(), "ID");
    return text;
  };
  const std::string first = make();
  const std::string name = name_in(first);
  remove(first);
  EXPECT_EQ(name_in(make_until_used(first)), name);
  EXPECT_EQ(name_in(make()), name) << "of one that had none before";
}

TEST_F(KeptGroups, HoldTheLimitsOfTheNext) {
  for (const char* memory : {"64m", "256m", "64m"}) {
    const std::string id = make({{"limits", {{"memory", memory}}}});
    json end = run(id, {"python3", "-c", "x = bytearray(128 << 20)"});
    EXPECT_EQ(end["exit_code"] == 0, std::string(memory) == "256m") << end;
    remove(id);
  }
}

TEST_F(KeptGroups, AreNotTakenWithChangedLimits) {
  const std::string first = make();
  run(first, {"true"});
  EXPECT_EQ(call("PATCH", "/v1/sandboxes/" + first, {{"limits", {{"memory", "32m"}}}}).status, 200);
  remove(first);
  json end = run(make_until_used(first), {"python3", "-c", "x = bytearray(128 << 20)"});
  EXPECT_EQ(end["exit_code"], 0) << end;
}

// A sandbox in which something runs when it is deleted: its counters may still be read.
TEST_F(KeptGroups, AreNotTakenFromUnderARunningProgram) {
  const std::string first = make();
  EXPECT_EQ(call("POST", "/v1/sandboxes/" + first + "/execs", {{"argv", {"sleep", "100"}}}).status, 201);
  remove(first);
  EXPECT_TRUE(becomes_free_of(first));
}

// A group whose programs were killed takes none any more.
TEST_F(KeptGroups, AreNotTakenFromAKilledProgram) {
  for (int i = 0; i < 3; ++i) {
    const std::string first = make();
    const json argv = {"python3", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(100)"};
    HttpResponse end = call("POST", "/v1/sandboxes/" + first + "/execs?wait=true",
                            {{"argv", argv}, {"limits", {{"timeout", "300ms"}, {"grace", "10ms"}}}});
    EXPECT_EQ(end.json()["status"], "timeout") << end.body;
    remove(first);
    json next = run(make_until_used(first), {"sh", "-c", "echo $(echo well)"});
    EXPECT_EQ(next["stdout"]["text"], "well\n") << next;
  }
}

TEST_F(KeptGroups, GoWhenNobodyNeedsThem) {
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(make());
  for (const std::string& id : ids) run(id, {"true"});
  for (const std::string& id : ids) remove(id);
  for (const std::string& id : ids) EXPECT_TRUE(becomes_free_of(id)) << id;
}

TEST_F(KeptGroups, GoWithTheServer) {
  const std::string id = make();
  run(id, {"true"});
  remove(id);
  server_.stop();
  EXPECT_THAT(groups_of(id), IsEmpty());
}

TEST_F(KeptGroups, AreSweptAwayAfterTheServersDeath) {
  const std::string id = make();
  run(id, {"true"});
  remove(id);
  std::this_thread::sleep_for(100ms);
  server_.kill();
  server_.start_again();
  ASSERT_TRUE(server_.running()) << server_.said();
  EXPECT_TRUE(becomes_free_of(id));
}

}  // namespace
}  // namespace cove::test
