#include "client/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "client/pack.h"
#include "client/unpack.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace cove::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TarReader reader_of(const std::string& archive) {
  return TarReader([archive, at = size_t{0}](char* data, size_t size) mutable -> Result<size_t> {
    // In small pieces, as a socket would give them.
    size_t count = std::min({size, archive.size() - at, size_t{100}});
    std::memcpy(data, archive.data() + at, count);
    at += count;
    return count;
  });
}

std::string member(TarEntry entry, const std::string& data = "") {
  entry.size = data.size();
  return encode_tar_header(entry) + data + tar_padding(data.size());
}

TEST(Tar, GoesThereAndBack) {
  std::string long_name = std::string(150, 'n') + "/" + std::string(200, 'm');
  std::string archive = member({"a.txt", TarKind::File, 0640, 0, 1234}, "hello") +
                        member({"d/", TarKind::Folder, 0755}) +
                        member({"l", TarKind::Symlink, 0777, 0, 0, std::string(300, 't')}) +
                        member({long_name, TarKind::File, 0644}, std::string(1000, 'x')) + tar_end();
  TarReader reader = reader_of(archive);
  std::optional<TarEntry> entry = *reader.next();
  EXPECT_EQ(entry->name, "a.txt");
  EXPECT_EQ(entry->mode, 0640u);
  EXPECT_EQ(entry->mtime, 1234);
  char data[16];
  EXPECT_EQ(*reader.read(data, 3), 3u);
  EXPECT_EQ((*reader.next())->kind, TarKind::Folder);
  EXPECT_EQ((*reader.next())->target, std::string(300, 't'));
  entry = *reader.next();
  EXPECT_EQ(entry->name, long_name);
  EXPECT_EQ(entry->size, 1000u);
  EXPECT_FALSE(*reader.next());
}

TEST(Tar, HoldsFilesOfAnySize) {
  TarEntry entry{"big", TarKind::File, 0644, uint64_t{1} << 40};
  TarReader reader = reader_of(encode_tar_header(entry) + tar_end());
  EXPECT_EQ((*reader.next())->size, uint64_t{1} << 40);
}

TEST(Tar, RefusesWhatIsNone) {
  std::string good = member({"a", TarKind::File}, "hello");
  std::string checksum = good, number = good;
  checksum[0] = 'b';
  number.replace(124, 3, "xyz");
  for (const std::string& bad :
       {std::string("short"), std::string(512, 'x'), checksum, number, good.substr(0, 600), good}) {
    TarReader reader = reader_of(bad);
    Result<std::optional<TarEntry>> entry = reader.next();
    while (entry && *entry) entry = reader.next();
    EXPECT_FALSE(entry) << bad.size();
  }
}

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

  Result<Unpacked> unpack_all(const std::string& members) {
    UniqueFd folder = *sys::open(top_ + "/in", O_RDONLY | O_DIRECTORY);
    TarReader reader = reader_of(members + tar_end());
    auto left_out = [this](const std::string& path, const std::string&) { left_out_.push_back(path); };
    return unpack(reader, folder.get(), left_out, {});
  }
  std::string read(const std::string& path) { return sys::read_file(top_ + "/" + path).value_or("(none)"); }

  std::string top_;
  std::vector<std::string> left_out_;
};

TEST_F(UnpackTest, MakesFilesFoldersAndLinks) {
  auto done = unpack_all(member({"./", TarKind::Folder, 0755}) + member({"./d/e/f", TarKind::File, 0755}, "deep") +
                         member({"d/l", TarKind::Symlink, 0777, 0, 0, "e/f"}) +
                         member({"h", TarKind::HardLink, 0644, 0, 0, "d/e/f"}));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->files, 2u);
  EXPECT_EQ(read("in/d/l"), "deep");
  EXPECT_EQ(read("in/h"), "deep");
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(UnpackTest, LeavesOutNamesThatLeadElsewhere) {
  ASSERT_TRUE(unpack_all(member({"../out", TarKind::File}, "x") + member({top_ + "/out", TarKind::File}, "x") +
                         member({"a/../../out", TarKind::File}, "x")));
  EXPECT_EQ(left_out_.size(), 3u);
  EXPECT_FALSE(sys::exists(top_ + "/out"));
}

TEST_F(UnpackTest, LeavesOutLinksThatLeadOut) {
  ASSERT_TRUE(unpack_all(member({"up", TarKind::Symlink, 0777, 0, 0, ".."}) +
                         member({"abs", TarKind::Symlink, 0777, 0, 0, "/etc/passwd"}) +
                         member({"hard", TarKind::HardLink, 0644, 0, 0, "../x"})));
  EXPECT_THAT(left_out_, ElementsAre("up", "abs", "hard"));
}

TEST_F(UnpackTest, NeverWritesThroughALink) {
  ASSERT_TRUE(sys::mkdir(top_ + "/out", 0755));
  ASSERT_TRUE(sys::symlink("../out", top_ + "/in/door"));
  ASSERT_TRUE(sys::write_file(top_ + "/out/victim", "safe"));
  ASSERT_TRUE(sys::symlink("../out/victim", top_ + "/in/file"));
  EXPECT_FALSE(unpack_all(member({"door/x", TarKind::File}, "bad")));
  EXPECT_TRUE(unpack_all(member({"file", TarKind::File}, "new")));
  EXPECT_EQ(read("out/victim"), "safe");
  EXPECT_EQ(read("in/file"), "new");
  EXPECT_FALSE(sys::exists(top_ + "/out/x"));
}

TEST_F(UnpackTest, DropsSetIdBits) {
  ASSERT_TRUE(unpack_all(member({"f", TarKind::File, 06755}, "x")));
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
  ASSERT_TRUE(pack(writer, top_ + "/src", "copy", [&](const auto& path, const auto&) { skipped.push_back(path); }));
  ::shutdown(connection.fd(), SHUT_WR);
  std::string archive = *sys::read_all(pair.second.get());
  ASSERT_TRUE(unpack_all(archive));
  EXPECT_EQ(read("in/copy/link"), std::string(1000, 'q'));
  EXPECT_EQ(sys::stat(top_ + "/in/copy/sub/file")->st_mode & 0777u, 0750u);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("fifo")));
}

}  // namespace
}  // namespace cove::client
