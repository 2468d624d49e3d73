#include "client/unpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "client/pack.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "tar/testing.h"

namespace cove::client {
namespace {

using tar::Kind;
using tar::testing::Member;
using tar::testing::source_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Links, StayBelowOrAreRefused) {
  EXPECT_TRUE(stays_below("a/b/link", "../c"));
  EXPECT_TRUE(stays_below("link", "file"));
  EXPECT_TRUE(stays_below("link", "./d/file"));
  EXPECT_TRUE(stays_below("a/link", ".."));
  EXPECT_FALSE(stays_below("link", "/etc/passwd"));
  EXPECT_FALSE(stays_below("link", ".."));
  EXPECT_FALSE(stays_below("a/link", "../../x"));
  EXPECT_FALSE(stays_below("link", "dir/../../x"));
  EXPECT_FALSE(stays_below("link", "other/.."));
  EXPECT_FALSE(stays_below("link", ""));
}

class UnpackTest : public ::testing::Test {
 protected:
  UnpackTest() {
    char name[] = "/tmp/cove-tar-XXXXXX";
    top_ = ::mkdtemp(name);
    EXPECT_TRUE(sys::mkdir(top_ + "/in", 0755));
  }
  ~UnpackTest() override { EXPECT_TRUE(sys::remove_tree(top_)); }

  Result<Unpacked> unpack_archive(const std::string& archive) {
    UniqueFd folder = *sys::open(top_ + "/in", O_RDONLY | O_DIRECTORY);
    auto left_out = [this](const std::string& path, const std::string&) { left_out_.push_back(path); };
    return unpack(source_of(archive), folder.get(), left_out, {});
  }
  Result<Unpacked> unpack_all(std::vector<Member> members) {
    return unpack_archive(tar::testing::archive_of(std::move(members)));
  }
  std::string read(const std::string& path) { return sys::read_file(top_ + "/" + path).value_or("(none)"); }

  std::string top_;
  std::vector<std::string> left_out_;
};

TEST_F(UnpackTest, MakesFilesFoldersAndLinks) {
  auto done = unpack_all({Member{{.name = "./", .kind = Kind::Folder, .mode = 0755}, ""},
                          Member{{.name = "./d/e/f", .kind = Kind::File, .mode = 0755}, "deep"},
                          Member{{.name = "d/l", .kind = Kind::Symlink, .mode = 0777, .link = "e/f"}, ""},
                          Member{{.name = "h", .kind = Kind::HardLink, .mode = 0644, .link = "d/e/f"}, ""}});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->files, 2u);
  EXPECT_EQ(read("in/d/l"), "deep");
  EXPECT_EQ(read("in/h"), "deep");
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(UnpackTest, LeavesOutNamesThatLeadElsewhere) {
  ASSERT_TRUE(unpack_all({Member{{.name = "../out", .kind = Kind::File}, "x"},
                          Member{{.name = top_ + "/out", .kind = Kind::File}, "x"},
                          Member{{.name = "a/../../out", .kind = Kind::File}, "x"}}));
  EXPECT_EQ(left_out_.size(), 3u);
  EXPECT_FALSE(sys::exists(top_ + "/out"));
}

TEST_F(UnpackTest, LeavesOutLinksThatLeadOut) {
  ASSERT_TRUE(unpack_all({Member{{.name = "up", .kind = Kind::Symlink, .mode = 0777, .link = ".."}, ""},
                          Member{{.name = "abs", .kind = Kind::Symlink, .mode = 0777, .link = "/etc/passwd"}, ""},
                          Member{{.name = "hard", .kind = Kind::HardLink, .mode = 0644, .link = "../x"}, ""}}));
  EXPECT_THAT(left_out_, ElementsAre("up", "abs", "hard"));
}

TEST_F(UnpackTest, NeverWritesThroughALink) {
  ASSERT_TRUE(sys::mkdir(top_ + "/out", 0755));
  ASSERT_TRUE(sys::symlink("../out", top_ + "/in/door"));
  ASSERT_TRUE(sys::write_file(top_ + "/out/victim", "safe"));
  ASSERT_TRUE(sys::symlink("../out/victim", top_ + "/in/file"));
  EXPECT_FALSE(unpack_all({Member{{.name = "door/x", .kind = Kind::File}, "bad"}}));
  EXPECT_TRUE(unpack_all({Member{{.name = "file", .kind = Kind::File}, "new"}}));
  EXPECT_EQ(read("out/victim"), "safe");
  EXPECT_EQ(read("in/file"), "new");
  EXPECT_FALSE(sys::exists(top_ + "/out/x"));
}

TEST_F(UnpackTest, DropsSetIdBits) {
  ASSERT_TRUE(unpack_all({Member{{.name = "f", .kind = Kind::File, .mode = 06755}, "x"}}));
  EXPECT_EQ(sys::stat(top_ + "/in/f")->st_mode & 07000u, 0u);
}

TEST_F(UnpackTest, UnpacksWhatWasPacked) {
  ASSERT_TRUE(sys::make_folders(top_ + "/src/sub"));
  ASSERT_TRUE(sys::write_file(top_ + "/src/sub/file", std::string(1000, 'q'), 0750));
  ASSERT_TRUE(sys::symlink("sub/file", top_ + "/src/link"));
  ASSERT_EQ(::mkfifo((top_ + "/src/fifo").c_str(), 0600), 0);
  sys::SocketPair pair = *sys::socketpair(SOCK_STREAM);
  Connection connection(std::move(pair.first));
  Progress none;
  BodyWriter writer(connection, Framing::Kind::Length, none);
  std::vector<std::string> skipped;
  tar::Writer packed = *archive_to(writer);
  ASSERT_TRUE(pack(packed, top_ + "/src", "copy", [&](const auto& path, const auto&) { skipped.push_back(path); }));
  ASSERT_TRUE(packed.finish());
  ::shutdown(connection.fd(), SHUT_WR);
  std::string archive = *sys::read_all(pair.second.get());
  ASSERT_TRUE(unpack_archive(archive));
  EXPECT_EQ(read("in/copy/link"), std::string(1000, 'q'));
  EXPECT_EQ(sys::stat(top_ + "/in/copy/sub/file")->st_mode & 0777u, 0750u);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("fifo")));
}

}  // namespace
}  // namespace cove::client
