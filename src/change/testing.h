#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "support/child.h"
#include "sys/file.h"

// A folder for a test, with git in it.
namespace cove::change {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/var/tmp/cove-change-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    top_ = name;
    path_ = top_ + "/folder";
    ASSERT_TRUE(sys::mkdir(path_, 0755));
    ASSERT_TRUE(sys::mkdir(top_ + "/record", 0700));
  }
  void TearDown() override { static_cast<void>(sys::remove_tree(top_)); }

  void write(const std::string& path, const std::string& content, mode_t mode = 0644) const {
    std::string full = path_ + "/" + path;
    ASSERT_TRUE(sys::make_folders(full.substr(0, full.rfind('/'))));
    ASSERT_TRUE(sys::write_file(full, content, mode)) << path;
    ASSERT_EQ(::chmod(full.c_str(), mode), 0);
  }
  // Last written an hour ago, so that no clock is too coarse to tell.
  void write_old(const std::string& path, const std::string& content) const {
    write(path, content);
    make_old(path);
  }
  void make_old(const std::string& path) const {
    timespec times[2] = {{::time(nullptr) - 3600, 5}, {::time(nullptr) - 3600, 5}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (path_ + "/" + path).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }

  // Nothing of the user's and the machine's configuration.
  std::string git(std::vector<std::string> words, const std::string& folder = "", const std::string& input = "") const {
    test::ChildOptions options;
    options.cwd = path_ + "/" + folder;
    options.input = input;
    options.env = {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
                   "GIT_AUTHOR_EMAIL=a@b",        "GIT_COMMITTER_NAME=A",  "GIT_COMMITTER_EMAIL=a@b"};
    words.insert(words.begin(), {"git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"});
    test::Outcome outcome = test::run(words, options);
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1) << words[5] << ": " << outcome.err;
    return outcome.out;
  }
  void init_git() const { git({"init", "-q"}); }
  void commit_all() const {
    git({"add", "-A"});
    git({"commit", "-q", "-m", "all"});
  }

  UniqueFd open(const std::string& path = ".") const {
    return UniqueFd(::open((path_ + "/" + path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  UniqueFd open_record() const {
    return UniqueFd(::open((top_ + "/record").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  std::string top_;   // the test's own
  std::string path_;  // the folder that is recorded
};

}  // namespace cove::change
