#include "sys/beneath.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "sys/file.h"

namespace cove::sys {
namespace {

// A folder with what somebody hostile would put into it.
class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "beneath-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    path_ = path;
    std::filesystem::create_directories(path_ + "/top/plain");
    write("/secret", "secret");
    write("/top/plain/file", "text");
    ASSERT_EQ(::symlink("../../secret", (path_ + "/top/plain/link").c_str()), 0);
    ASSERT_EQ(::symlink("/", (path_ + "/top/root").c_str()), 0);
    ASSERT_EQ(::symlink("plain", (path_ + "/top/inner").c_str()), 0);
    ASSERT_EQ(::mkfifo((path_ + "/top/fifo").c_str(), 0666), 0);
    top_ = UniqueFd(::open((path_ + "/top").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void write(const std::string& path, const std::string& text) { std::ofstream(path_ + path) << text; }
  bool exists(const std::string& path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path_ + path));
  }
  int top() const { return top_.get(); }

  std::string path_;
  UniqueFd top_;
};

template <typename Value>
int errnum_of(const Result<Value>& result) {
  return result ? 0 : result.error().errnum();
}

TEST_F(Beneath, ReadsPlainFiles) { EXPECT_EQ(read_beneath(top(), "plain/file", 100).value_or(""), "text"); }

TEST_F(Beneath, FollowsNoLink) {
  EXPECT_EQ(errnum_of(read_beneath(top(), "plain/link", 100)), ELOOP);
  EXPECT_EQ(errnum_of(read_beneath(top(), "inner/file", 100)), ELOOP);
  EXPECT_EQ(errnum_of(read_beneath(top(), "root/etc/passwd", 100)), ELOOP);
  EXPECT_EQ(errnum_of(open_folder_beneath(top(), "inner")), ELOOP);
  EXPECT_EQ(errnum_of(make_folder_beneath(top(), "root/tmp/cove-beneath", 0755)), ELOOP);
  EXPECT_EQ(errnum_of(make_file_beneath(top(), "inner/new", "x", 0644)), ELOOP);
  EXPECT_EQ(errnum_of(remove_beneath(top(), "inner/file")), ELOOP);
  EXPECT_TRUE(exists("/top/plain/file"));
}

TEST_F(Beneath, LeadsNowhereElse) {
  EXPECT_EQ(errnum_of(read_beneath(top(), "../secret", 100)), EXDEV);
  EXPECT_EQ(errnum_of(read_beneath(top(), "/etc/passwd", 100)), EXDEV);
  EXPECT_EQ(errnum_of(find_beneath(top(), "plain/../../secret")), EXDEV);
}

TEST_F(Beneath, NeverWaitsForAFifo) {
  Result<UniqueFd> file = open_file_beneath(top(), "fifo", O_RDONLY);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::Invalid);
  EXPECT_EQ(errnum_of(open_file_beneath(top(), "fifo", O_WRONLY)), ENXIO);
  EXPECT_EQ(errnum_of(make_file_beneath(top(), "fifo", "x", 0644)), EEXIST);
}

TEST_F(Beneath, TakesOnlyFilesForFiles) {
  Result<UniqueFd> file = open_file_beneath(top(), "plain", O_RDONLY);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), Code::Invalid);
}

TEST_F(Beneath, MakesOnlyWhatIsNotThere) {
  EXPECT_TRUE(make_folder_beneath(top(), "plain/folder", 0755));
  EXPECT_TRUE(make_file_beneath(top(), "plain/folder/new", "x", 0644));
  EXPECT_EQ(errnum_of(make_file_beneath(top(), "plain/link", "x", 0644)), EEXIST);
  EXPECT_EQ(errnum_of(make_folder_beneath(top(), "plain/link", 0755)), EEXIST);
  EXPECT_EQ(read_file(path_ + "/secret").value_or(""), "secret");
}

TEST_F(Beneath, RemovesALinkAndNotWhatItLeadsTo) {
  EXPECT_TRUE(remove_beneath(top(), "plain/link"));
  EXPECT_TRUE(remove_beneath(top(), "root"));
  EXPECT_TRUE(remove_beneath(top(), "plain/file"));
  EXPECT_TRUE(remove_beneath(top(), "plain"));
  EXPECT_FALSE(exists("/top/plain"));
  EXPECT_TRUE(exists("/secret"));
}

}  // namespace
}  // namespace cove::sys
