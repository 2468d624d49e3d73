#include "image/etc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "sys/file.h"

namespace cove {
namespace {

// A host's /etc and a place to copy it to.
class Etc : public ::testing::Test {
 protected:
  Etc() {
    char folder[] = "/tmp/cove-etc-XXXXXX";
    folder_ = ::mkdtemp(folder);
    EXPECT_TRUE(sys::make_folders(host()));
    EXPECT_TRUE(sys::make_folders(folder_ + "/out"));
  }
  ~Etc() override { EXPECT_TRUE(sys::remove_tree(folder_)); }

  std::string host() const { return folder_ + "/host"; }
  std::string copied(const std::string& path) const { return folder_ + "/out/etc/" + path; }

  void have(const std::string& path, const std::string& data, mode_t mode = 0644) {
    std::string full = host() + "/" + path;
    ASSERT_TRUE(sys::make_folders(full.substr(0, full.rfind('/'))));
    ASSERT_TRUE(sys::write_file(full, data));
    ASSERT_EQ(::chmod(full.c_str(), mode), 0);
  }
  void copy() {
    auto done = copy_etc(host(), TreeWriter(folder_ + "/out"));
    ASSERT_TRUE(done) << done.error().message();
  }

  std::string folder_;
};

TEST_F(Etc, TakesWhatProgramsNeed) {
  have("ssl/certs/root.pem", "certificate");
  have("python3.11/sitecustomize.py", "pass");
  have("profile.d/run.sh", "true", 0755);
  copy();
  EXPECT_EQ(*sys::read_file(copied("ssl/certs/root.pem")), "certificate");
  EXPECT_TRUE(sys::exists(copied("python3.11/sitecustomize.py")));
  EXPECT_EQ(sys::stat(copied("profile.d/run.sh"))->st_mode & 07777, 0755u);
}

TEST_F(Etc, LeavesWhatIsNotListed) {
  have("shadow", "root:hash");
  have("ssh/ssh_config", "Host *");
  have("ssl/other", "x");
  have("npmrc", "token");
  copy();
  EXPECT_FALSE(sys::exists(copied("shadow")));
  EXPECT_FALSE(sys::exists(copied("ssh")));
  EXPECT_FALSE(sys::exists(copied("ssl")));
  EXPECT_FALSE(sys::exists(copied("npmrc")));
}

TEST_F(Etc, LeavesWhatNotEveryUserCanRead) {
  have("profile.d/hidden.sh", "export TOKEN=1", 0640);
  have("apt/closed/list", "x");
  ASSERT_EQ(::chmod((host() + "/apt/closed").c_str(), 0750), 0);
  copy();
  EXPECT_FALSE(sys::exists(copied("profile.d/hidden.sh")));
  EXPECT_FALSE(sys::exists(copied("apt/closed")));
}

TEST_F(Etc, LeavesKeysAndPasswordsInTakenFolders) {
  have("ssl/certs/server.key", "x");
  have("ssl/certs/both.pem", "-----BEGIN RSA PRIVATE KEY-----\n");
  have("apt/auth.conf", "machine example.org password x");
  have("apt/sources.list", "deb https://me:hidden@example.org/debian stable main\n");
  have("apt/sources.list.d/plain.list",
       "# https://me:hidden@example.org\ndeb https://example.org/debian stable main\n");
  copy();
  EXPECT_FALSE(sys::exists(copied("ssl/certs/server.key")));
  EXPECT_FALSE(sys::exists(copied("ssl/certs/both.pem")));
  EXPECT_FALSE(sys::exists(copied("apt/auth.conf")));
  EXPECT_FALSE(sys::exists(copied("apt/sources.list")));
  EXPECT_TRUE(sys::exists(copied("apt/sources.list.d/plain.list")));
}

TEST_F(Etc, CopiesLinksAsLinks) {
  have("ssl/certs/root.pem", "certificate");
  ASSERT_TRUE(sys::symlink("/root/secret", host() + "/ssl/certs/link.pem"));
  copy();
  EXPECT_EQ(*sys::readlink(copied("ssl/certs/link.pem")), "/root/secret");
}

TEST_F(Etc, LeavesSocketsFifosAndHugeFiles) {
  have("fonts/huge", std::string(5 << 20, 'x'));
  ASSERT_EQ(::mkfifo((host() + "/fonts/fifo").c_str(), 0644), 0);
  copy();
  EXPECT_FALSE(sys::exists(copied("fonts/huge")));
  EXPECT_FALSE(sys::exists(copied("fonts/fifo")));
}

TEST_F(Etc, IsGeneratedWithBothUsersOfASandbox) {
  ASSERT_TRUE(generate_etc(TreeWriter(folder_ + "/out")));
  std::string passwd = *sys::read_file(copied("passwd"));
  EXPECT_NE(passwd.find("root:x:0:0:"), std::string::npos);
  EXPECT_NE(passwd.find("user:x:1000:1000:user:/home/user:"), std::string::npos);
  EXPECT_NE(sys::read_file(copied("group"))->find("user:x:1000:"), std::string::npos);
  EXPECT_FALSE(sys::exists(copied("shadow")));
}

// musl waits this long for a server that does not answer, and there is none.
TEST_F(Etc, NamesAreNotWaitedFor) {
  ASSERT_TRUE(generate_etc(TreeWriter(folder_ + "/out")));
  EXPECT_NE(sys::read_file(copied("resolv.conf"))->find("nameserver 10.0.2.3\noptions timeout:1 attempts:3\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cove
