// Folders that somebody has put another in the place of: none is shown, and none is read on the host.
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class ReplacedWorkspaces : public WithServer<ReplacedWorkspaces> {
 public:
  static std::vector<std::string> arguments() { return {"--limits-memory", "256m"}; }

 protected:
  void SetUp() override {
    WithServer::SetUp();
    if (!server_ || !server_->running()) return;
    top_ = server_->folder() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    for (const char* name : {"/project/sub", "/outside"}) std::filesystem::create_directories(top_ + name);
    std::ofstream(top_ + "/outside/secret") << "SECRET\n";
    std::ofstream(top_ + "/project/sub/note") << "content\n";
  }
  void TearDown() override {
    if (server_ && server_->running()) remove_all();
  }

  json work_on(const std::string& folder, const std::string& access) const {
    return {{"path", top_ + folder}, {"access", access}};
  }
  // A sandbox that shows the folder above does it.
  void replace() const {
    json made = execute(
        {{"shell", "mv sub sub.old && ln -s " + top_ + "/outside sub"}, {"workspace", work_on("/project", "rw")}});
    ASSERT_EQ(made["exit_code"], 0) << made.dump();
  }
  void expect_noticed(const HttpResponse& response) const {
    expect_refusal(response, 503, "unavailable");
    EXPECT_THAT(response.body, HasSubstr("is not the folder that was recorded"));
  }

  std::string top_;
};

TEST_F(ReplacedWorkspaces, AreNoticedAtTheFirstUseOfASession) {
  for (const char* access : {"ro", "rw", "review"}) {
    SCOPED_TRACE(access);
    std::string id = start({{"workspace", work_on("/project/sub", access)}});
    replace();
    expect_noticed(try_in(id, {{"shell", "cat secret; echo x > planted"}}));
    EXPECT_FALSE(std::filesystem::exists(top_ + "/outside/planted"));
    std::filesystem::remove(top_ + "/project/sub");
    std::filesystem::rename(top_ + "/project/sub.old", top_ + "/project/sub");
    EXPECT_EQ(text_in(id, "cat note"), "content\n") << "the folder is there again";
  }
}

TEST_F(ReplacedWorkspaces, AreNoticedWhenASandboxStartsAgain) {
  HttpResponse made = post("/v1/sandboxes", {{"workspace", work_on("/project/sub", "rw")}});
  ASSERT_EQ(made.status, 201) << made.body;
  std::string sandbox = "/v1/sandboxes/" + made.json()["id"].get<std::string>();
  replace();
  json result = post(sandbox + "/execs?wait=true", {{"argv", {"cat", "note"}}}).json();
  EXPECT_EQ(result["stdout"]["text"], "content\n") << "it has the folder itself";
  EXPECT_EQ(post(sandbox + "/stop", json::object()).status, 200);
  expect_noticed(call("POST", sandbox + "/start"));
}

TEST_F(ReplacedWorkspaces, AreNotReadOnTheHost) {
  std::string id = start({{"mode", "selective"}, {"workspace", work_on("/project/sub", "ro")}});
  EXPECT_EQ(run_in(id, {{"argv", {"cat", "note"}}})["where"], "host");
  replace();
  HttpResponse response = try_in(id, {{"argv", {"cat", "secret"}}});
  EXPECT_THAT(response.body, Not(HasSubstr("SECRET")));
  expect_noticed(response);
}

TEST_F(ReplacedWorkspaces, AreNotTakenForThoseOfAnAgent) {
  json wanted = {{"agent", "one"}, {"scope", "agent"}, {"workspace", work_on("/project/sub", "rw")}};
  std::string first = start(wanted);
  EXPECT_EQ(text_in(first, "cat note"), "content\n");
  std::filesystem::rename(top_ + "/project/sub", top_ + "/project/sub.old");
  std::filesystem::create_directory(top_ + "/project/sub");
  HttpResponse other = try_in(start(wanted), {{"argv", {"ls"}}});
  expect_refusal(other, 409, "conflict");
  EXPECT_THAT(other.body, HasSubstr("before, and not the one that is there now"));
}

TEST_F(ReplacedWorkspaces, NeedToBeThereWhenASessionStarts) {
  expect_refusal(post("/v1/sessions", {{"workspace", work_on("/nowhere", "ro")}}), 404, "not_found");
  HttpResponse file = post("/v1/sessions", {{"workspace", work_on("/outside/secret", "ro")}});
  EXPECT_GE(file.status, 400) << file.body;
}

TEST_F(ReplacedWorkspaces, NorIsWhatIsMountedBelowThem) {
  const std::string point = top_ + "/project/mnt";
  std::filesystem::create_directory(point);
  ASSERT_EQ(::mount("none", point.c_str(), "tmpfs", 0, "size=1m"), 0);
  std::ofstream(point + "/hidden") << "NESTED\n";
  for (const json& argv : {json{"grep", "-r", "NESTED", "."}, json{"ls", "-R"}, json{"cat", "mnt/hidden"}}) {
    json result = execute({{"mode", "selective"}, {"argv", argv}, {"workspace", work_on("/project", "ro")}});
    EXPECT_EQ(result["where"], "sandbox") << result.dump();
    EXPECT_THAT(result["stdout"]["text"].get<std::string>(), Not(HasSubstr("NESTED"))) << argv.dump();
    EXPECT_THAT(result["stdout"]["text"].get<std::string>(), Not(HasSubstr("hidden"))) << argv.dump();
  }
  EXPECT_EQ(::umount2(point.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace cove::test
