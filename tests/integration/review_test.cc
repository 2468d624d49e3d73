// Workspaces under review: what is written stays inside, and what was there before is on record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/server.h"

namespace cove::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr unsigned kOwner = 4321;  // of the folder: somebody who has nothing to do with the sandbox

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

class Review : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "gives a folder to another user";
    ASSERT_TRUE(server_.running()) << server_.said();
    char name[] = "/var/tmp/cove-review-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    ASSERT_EQ(::chmod(name, 0755), 0);
    folder_ = fs::path(name) / "work";
    fs::create_directories(folder_ / "sub");
    write(folder_ / "kept", "as it was\n");
    write(folder_ / "sub/old", "old\n");
    give(folder_);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    ::umount2((folder_ / "sub").c_str(), MNT_DETACH);
    fs::remove_all(folder_.parent_path());
  }

  static void give(const fs::path& path) {
    EXPECT_EQ(::lchown(path.c_str(), kOwner, kOwner), 0);
    if (fs::is_symlink(path) || !fs::is_directory(path)) return;
    for (const auto& each : fs::directory_iterator(path)) give(each.path());
  }

  HttpResponse call(const std::string& method, const std::string& target, const json& body = nullptr) const {
    return fetch(server_.socket(),
                 {method, target, {{"content-type", "application/json"}}, body.is_null() ? "" : body.dump()});
  }
  json make() const {
    HttpResponse response =
        call("POST", "/v1/sandboxes", {{"workspace", {{"path", folder_.string()}, {"access", "review"}}}});
    EXPECT_EQ(response.status, 201) << response.body;
    return response.json();
  }
  std::string run(const std::string& id, const std::string& script) const {
    HttpResponse response = call("POST", "/v1/sandboxes/" + id + "/execs?wait=true", {{"shell", script}});
    json result = response.json();
    return result.value("stdout", json::object()).value("text", "") +
           result.value("stderr", json::object()).value("text", "");
  }
  fs::path base_of(const std::string& id) const { return fs::path(server_.folder()) / "state/server/bases" / id; }

  ServerUnderTest server_;
  fs::path folder_;
};

TEST_F(Review, WhatIsWrittenStaysInTheSandbox) {
  std::string id = make()["id"];
  EXPECT_EQ(run(id, "pwd; cat kept; echo changed > kept; rm sub/old; echo new > made; mv sub moved; chmod 700 made"),
            "/workspace\nas it was\n");
  EXPECT_EQ(run(id, "cat kept made; ls"), "changed\nnew\nkept\nmade\nmoved\n");
  EXPECT_EQ(read(folder_ / "kept"), "as it was\n");
  EXPECT_EQ(read(folder_ / "sub/old"), "old\n");
  EXPECT_FALSE(fs::exists(folder_ / "made"));

  EXPECT_EQ(call("POST", "/v1/sandboxes/" + id + "/stop").status, 200);
  EXPECT_EQ(call("POST", "/v1/sandboxes/" + id + "/start").status, 200);
  EXPECT_EQ(run(id, "cat kept made; ls"), "changed\nnew\nkept\nmade\nmoved\n");
  EXPECT_EQ(call("GET", "/v1/sandboxes/" + id).json()["workspace"]["access"], "review");
  EXPECT_EQ(call("DELETE", "/v1/sandboxes/" + id).status, 204);
  EXPECT_EQ(read(folder_ / "kept"), "as it was\n");
  EXPECT_FALSE(fs::exists(base_of(id)));
}

TEST_F(Review, WhatWasThereBeforeIsOnRecord) {
  std::string id = make()["id"];
  std::string base = read(base_of(id) / "base");
  EXPECT_THAT(base, HasSubstr("\"path\":\"kept\""));
  EXPECT_THAT(base, HasSubstr("\"path\":\"sub/old\""));
  std::vector<std::string> copies;
  for (const auto& each : fs::directory_iterator(base_of(id) / "copies")) copies.push_back(read(each.path()));
  EXPECT_THAT(copies, testing::UnorderedElementsAre("as it was\n", "old\n"));
  run(id, "echo changed > kept");
  EXPECT_EQ(read(base_of(id) / "base"), base);
}

TEST_F(Review, AnotherFolderInItsPlaceIsNoticed) {
  std::string id = make()["id"];
  EXPECT_EQ(call("POST", "/v1/sandboxes/" + id + "/stop").status, 200);
  fs::path helper = folder_.parent_path() / "aside";
  fs::rename(folder_, helper);
  fs::create_directories(folder_);
  give(folder_);
  HttpResponse refused = call("POST", "/v1/sandboxes/" + id + "/start");
  EXPECT_GE(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("is not the folder that was recorded"));
  fs::remove(folder_);
  fs::rename(helper, folder_);
  EXPECT_EQ(call("POST", "/v1/sandboxes/" + id + "/start").status, 200);
}

TEST_F(Review, LinksLeadNowhereOutside) {
  write(folder_.parent_path() / "secret", "of the host\n");
  fs::create_symlink(folder_.parent_path() / "secret", folder_ / "out");
  fs::create_symlink("../secret", folder_ / "up");
  fs::create_directory_symlink(folder_.parent_path(), folder_ / "around");
  give(folder_);
  std::string id = make()["id"];
  std::string seen = run(id, "cat out up around/secret; echo mine > out; echo mine > up; cat /workspace/../secret");
  EXPECT_THAT(seen, testing::Not(HasSubstr("of the host")));
  EXPECT_EQ(read(folder_.parent_path() / "secret"), "of the host\n");
  for (const auto& each : fs::directory_iterator(base_of(id) / "copies"))
    EXPECT_THAT(read(each.path()), testing::Not(HasSubstr("of the host")));
}

TEST_F(Review, AMountBelowIsNeitherShownNorMissed) {
  ASSERT_EQ(::mount("tmpfs", (folder_ / "sub").c_str(), "tmpfs", 0, "size=1m"), 0);
  write(folder_ / "sub/elsewhere", "of another file system\n");
  json made = make();
  EXPECT_EQ(made["warnings"].size(), 1u) << made;
  EXPECT_THAT(made["warnings"].dump(), HasSubstr("not wholly, on record: 1"));
  EXPECT_EQ(run(made["id"], "ls sub"), "old\n");
}

TEST_F(Review, FilesOfOthersCanBeReadOnly) {
  write(folder_ / "roots", "root's\n");
  write(folder_ / "closed", "root's alone\n");
  ASSERT_EQ(::chmod((folder_ / "closed").c_str(), 0600), 0);
  std::string id = make()["id"];
  EXPECT_EQ(run(id, "cat roots"), "root's\n");
  EXPECT_THAT(run(id, "cat closed"), HasSubstr("Permission denied"));
  EXPECT_THAT(run(id, "sudo cat closed"), testing::Not(HasSubstr("alone")));
  EXPECT_EQ(read(folder_ / "roots"), "root's\n");
}

TEST_F(Review, AFolderThatCannotBeRecordedIsRefused) {
  HttpResponse none =
      call("POST", "/v1/sandboxes", {{"workspace", {{"path", "/no/such/folder"}, {"access", "review"}}}});
  EXPECT_GE(none.status, 400);
  EXPECT_THAT(none.body, HasSubstr("/no/such/folder"));
  EXPECT_TRUE(fs::is_empty(fs::path(server_.folder()) / "state/server/bases"));
}

}  // namespace
}  // namespace cove::test
