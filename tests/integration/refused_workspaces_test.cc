// Folders that cannot, or must not, be a workspace.
#include <unistd.h>

#include <filesystem>

#include "integration/api_fixture.h"

namespace cove::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const std::string& root() {
  static const std::string folder = "/var/tmp/cove-roots-" + std::to_string(::getpid());
  return folder;
}

class RefusedWorkspaces : public WithServer<RefusedWorkspaces> {
 public:
  static std::vector<std::string> arguments() { return {"--limits-memory", "256m", "--workspace-roots", root()}; }
  static void TearDownTestSuite() {
    WithServer::TearDownTestSuite();
    fs::remove_all(root());
  }

 protected:
  void SetUp() override {
    WithServer::SetUp();
    fs::create_directories(root() + "/inside");
  }
  void TearDown() override {
    if (server_ && server_->running()) remove_all();
  }
  static json show(const std::string& path, const std::string& access) {
    return {{"workspace", {{"path", path}, {"access", access}}}};
  }
};

TEST_F(RefusedWorkspaces, AreThoseThatLeadOutOfTheFoldersForCallersFromElsewhere) {
  fs::create_directory_symlink("/usr", root() + "/link");
  fs::create_directory_symlink("inside", root() + "/harmless");
  EXPECT_EQ(over_tcp("/v1/sessions", show(root() + "/inside", "ro")).status, 201);
  EXPECT_EQ(over_tcp("/v1/sessions", show(root() + "/harmless", "ro")).status, 201);
  for (const std::string& path : {root() + "/../../usr", root() + "/link", root() + "/link/lib", std::string("/usr")})
    for (const char* target : {"/v1/sessions", "/v1/sandboxes"}) {
      SCOPED_TRACE(path);
      expect_refusal(over_tcp(target, show(path, "ro")), 403, "denied");
    }
}

TEST_F(RefusedWorkspaces, AreThoseWithAPathThatIsTooLong) {
  std::string component = "/" + std::string(300, 'n');
  std::string path;
  while (path.size() < 100'000) path += "/name";
  for (const std::string& each : {component, path}) {
    HttpResponse response = post("/v1/sessions", show(each, "ro"));
    expect_refusal(response, 400, "invalid");
    EXPECT_THAT(response.body, Not(HasSubstr(each)));
    expect_refusal(post("/v1/sandboxes", show(each, "ro")), 400, "invalid");
  }
}

TEST_F(RefusedWorkspaces, AreThoseOnFileSystemsThatCannotBeShown) {
  HttpResponse made = post("/v1/sandboxes", show("/proc", "ro"));
  expect_refusal(made, 422, "unsupported");
  EXPECT_THAT(made.body, HasSubstr("/proc"));
  EXPECT_THAT(made.body, HasSubstr("ext4"));
  expect_refusal(try_in(start(show("/proc", "ro")), {{"argv", {"true"}}}), 422, "unsupported");
}

// Whoever could write there would have the server.
TEST_F(RefusedWorkspaces, AreThoseWithWhatTheServerKeeps) {
  std::string state = server_->folder() + "/state";
  fs::create_directories(server_->folder() + "/beside");
  fs::create_directory_symlink(state, server_->folder() + "/away");
  for (const std::string& path : {state, state + "/server", server_->folder(), server_->folder() + "/away"})
    for (const char* access : {"ro", "rw", "review"}) {
      SCOPED_TRACE(path + " " + access);
      if (path == server_->folder() && access == std::string("ro")) continue;  // it can be hidden there
      HttpResponse response = post("/v1/sessions", show(path, access));
      expect_refusal(response, 403, "denied");
      EXPECT_THAT(response.body, HasSubstr("Cove keeps its own files"));
      expect_refusal(post("/v1/sandboxes", show(path, access)), 403, "denied");
    }
  EXPECT_EQ(post("/v1/sessions", show(server_->folder() + "/beside", "rw")).status, 201);
  EXPECT_EQ(post("/v1/sessions", show(server_->folder(), "ro")).status, 201);
}

}  // namespace
}  // namespace cove::test
