// What the server itself keeps, by way of a workspace that contains it.
#include <gmock/gmock.h>
#include <sys/mount.h>

#include "security/own_server.h"

namespace cove::test {
namespace {

using testing::HasSubstr;

class OwnFolders : public OwnServer {
 protected:
  static constexpr const char* kLook = "ls -A /workspace/state; cat /workspace/beside";
  void SetUp() override {
    OwnServer::SetUp();
    write(home() + "/beside", "beside");
    ASSERT_EQ(::chmod(home().c_str(), 0755), 0);
  }
};

TEST_P(OwnFolders, AreHiddenInAWorkspaceThatContainsThem) {
  create({"--workspace", home() + ":ro"});
  EXPECT_TRUE(std::filesystem::exists(state() + "/server"));
  EXPECT_EQ(inside(kLook), "beside");
  start_again();
  EXPECT_EQ(inside(kLook), "beside");
  start_all_again();
  EXPECT_EQ(inside(kLook), "beside");
  // Neither can the cover be written to, nor taken away.
  EXPECT_EQ(
      inside("touch /workspace/state/x 2>/dev/null || echo held; umount /workspace/state 2>/dev/null || echo held"),
      "held\nheld\n");
}

TEST_P(OwnFolders, AreHiddenInARunWithoutAServer) {
  make_folder(state() + "/server");
  write(state() + "/server/secret", "secret");
  Outcome run = cove({"run", "--direct", "--workspace", home() + ":ro", "--", "sh", "-c", kLook});
  EXPECT_EQ(run.out, "beside") << run.err;
}

TEST_P(OwnFolders, AreHiddenInALinkedAndNestedPlace) {
  make_folder(home() + "/a");
  make_folder(home() + "/a/b");
  std::filesystem::rename(state(), home() + "/a/b/real");
  std::filesystem::create_directory_symlink(home() + "/a/b/real", state());
  make_folder(home() + "/a/b/real/server");
  write(home() + "/a/b/real/server/secret", "secret");
  Outcome run = cove({"run", "--direct", "--workspace", home() + "/a:ro", "--", "sh", "-c", "ls -A /workspace/b/real"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
}

// The state folder is a bind mount of one in the workspace: no `..` leads from it to there.
TEST_P(OwnFolders, AreHiddenWhereTheyAreMountedFrom) {
  if (!is_root()) return;  // to mount
  make_folder(home() + "/data");
  make_folder(home() + "/data/real folder");
  make_folder(home() + "/data/real folder/server");
  write(home() + "/data/real folder/server/secret", "secret");
  ASSERT_EQ(::mount((home() + "/data/real folder").c_str(), state().c_str(), nullptr, MS_BIND, nullptr), 0);
  Outcome shown = cove({"run", "--direct", "--workspace", home() + "/data:ro", "--", "sh", "-c",
                        "ls -A '/workspace/real folder'; echo seen"});
  Outcome changed = cove({"run", "--direct", "--workspace", home() + "/data:rw", "--", "true"});
  EXPECT_EQ(::umount2(state().c_str(), MNT_DETACH), 0);
  EXPECT_EQ(shown.out, "seen\n") << shown.err;
  EXPECT_NE(changed.exit_code, 0);
  EXPECT_THAT(changed.err, HasSubstr("Cove keeps its own files"));
}

TEST_P(OwnFolders, AreRefusedWhereTheyCannotBeHidden) {
  for (const Words& how : {Words{"run"}, Words{"run", "--direct"}})
    for (const char* access : {":rw", ":review"})
      for (const std::string& path : {home(), state()}) {
        Words words = how;
        words.insert(words.end(), {"--workspace", path + access, "--", "true"});
        Outcome outcome = cove(words);
        EXPECT_NE(outcome.exit_code, 0) << path << access;
        EXPECT_THAT(outcome.err, HasSubstr("Cove keeps its own files"));
      }
  Outcome inner = cove({"run", "--direct", "--workspace", state() + ":ro", "--", "true"});
  EXPECT_NE(inner.exit_code, 0);
}

COVE_FOR_EVERYBODY(OwnFolders);

// Tools that copy files with all that belongs to them meet a workspace without extended attributes, and go on.
class CopyingTools : public OwnServer {};

TEST_P(CopyingTools, WorkInAWritableWorkspace) {
  make_folder(home() + "/work");
  write(home() + "/work/file", "text\n");
  const char* script =
      "set -e; cd /workspace; cp -p file p; cp -a file a; cp --preserve=mode,timestamps file m; install -m 755 file i;"
      "tar cf t.tar file; mkdir x; tar xpf t.tar -C x; sed -i s/text/word/ a; mv a /tmp/a; mv /tmp/a b; cat b;"
      "python3 -c 'import shutil; shutil.copy2(\"file\", \"c\"); shutil.copytree(\"x\", \"y\")';"
      "if command -v git >/dev/null; then git init -q g; cp file g; cd g; git add file;"
      "git -c user.name=n -c user.email=e commit -qm m; fi";
  Outcome run = cove({"run", "--direct", "--workspace", home() + "/work:rw", "--", "sh", "-c", script});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "word\n");
  EXPECT_EQ(run.err.find("cp:"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("tar:"), std::string::npos) << run.err;
}

COVE_FOR_EVERYBODY(CopyingTools);

}  // namespace
}  // namespace cove::test
