#include "change/git_index.h"

#include <random>

#include "base/text.h"
#include "change/git_folder.h"
#include "change/testing.h"

namespace cove::change {
namespace {

class GitIndex : public FolderTest {
 protected:
  void fill() const {
    for (int i = 0; i < 40; ++i) write(concat("folder-", i % 7, "/sub/file-", i, ".txt"), concat("content ", i));
    write("run", "#!/bin/sh\n", 0755);
    write("caf\xc3\xa9", "coffee");
    write("\xff\xfe", "no text");
    write(std::string(200, 'n') + "/" + std::string(200, 'm'), "a long name");
    ASSERT_TRUE(sys::symlink("run", path_ + "/link"));
  }
  std::string index() const { return sys::read_file(path_ + "/.git/index").value_or(""); }

  // Mode, id and path of each, as `git ls-files --stage -z` says it.
  static std::string described(const std::vector<IndexEntry>& entries) {
    std::string text;
    for (const IndexEntry& entry : entries) {
      char mode[16];
      std::snprintf(mode, sizeof mode, "%06o", entry.mode);
      text += concat(std::string_view(mode), " ", entry.id, " 0\t", entry.path, '\0');
    }
    return text;
  }
  void expect_as_git_says(HashKind hash = HashKind::Sha1) const {
    Result<std::vector<IndexEntry>> entries = parse_git_index(index(), hash);
    ASSERT_TRUE(entries) << entries.error().message();
    EXPECT_EQ(described(*entries), git({"ls-files", "--stage", "-z"}));
    EXPECT_GT(entries->size(), 40u);
  }
  char version() const { return index()[7]; }
};

TEST_F(GitIndex, Version2IsRead) {
  init_git();
  fill();
  commit_all();
  EXPECT_EQ(version(), 2);
  expect_as_git_says();
}

TEST_F(GitIndex, Version3IsReadAndAnnouncedFilesHaveNoBlob) {
  init_git();
  fill();
  commit_all();
  write("announced", "soon");
  git({"add", "-N", "announced"});
  ASSERT_EQ(version(), 3);
  expect_as_git_says();
  Result<std::vector<IndexEntry>> entries = parse_git_index(index(), HashKind::Sha1);
  ASSERT_TRUE(entries);
  for (const IndexEntry& entry : *entries) EXPECT_EQ(entry.has_blob, entry.path != "announced") << entry.path;
}

TEST_F(GitIndex, Version4IsRead) {
  init_git();
  fill();
  commit_all();
  git({"update-index", "--index-version", "4"});
  ASSERT_EQ(version(), 4);
  expect_as_git_says();
}

TEST_F(GitIndex, Sha256IsRead) {
  git({"init", "-q", "--object-format=sha256"});
  fill();
  commit_all();
  expect_as_git_says(HashKind::Sha256);
  git({"update-index", "--index-version", "4"});
  expect_as_git_says(HashKind::Sha256);
  EXPECT_FALSE(parse_git_index(index(), HashKind::Sha1));
}

TEST_F(GitIndex, ConflictsHaveNoBlob) {
  init_git();
  write("a", "1\n");
  commit_all();
  git({"checkout", "-q", "-b", "other"});
  write("a", "2\n");
  commit_all();
  git({"checkout", "-q", "main"});
  write("a", "3\n");
  commit_all();
  git({"merge", "-q", "other"});
  Result<std::vector<IndexEntry>> entries = parse_git_index(index(), HashKind::Sha1);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->size(), 3u);
  for (const IndexEntry& entry : *entries) EXPECT_FALSE(entry.has_blob);
}

TEST_F(GitIndex, ASplitIndexIsUnsupported) {
  init_git();
  fill();
  commit_all();
  git({"update-index", "--split-index"});
  Result<std::vector<IndexEntry>> entries = parse_git_index(index(), HashKind::Sha1);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code(), Code::Unsupported);
}

// With zeros for a checksum whatever is changed gets past it.
TEST_F(GitIndex, DamageIsAnErrorAndNothingElse) {
  init_git();
  fill();
  commit_all();
  git({"update-index", "--index-version", "4"});
  for (int kind = 0; kind < 2; ++kind) {
    std::string data = index();
    EXPECT_FALSE(parse_git_index(data.substr(0, data.size() - 1), HashKind::Sha1));
    std::string damaged = data;
    damaged[data.size() / 2] ^= 1;
    EXPECT_FALSE(parse_git_index(damaged, HashKind::Sha1)) << "the checksum is wrong";
    for (size_t i = data.size() - 20; i < data.size(); ++i) data[i] = 0;
    ASSERT_TRUE(parse_git_index(data, HashKind::Sha1));
    // The extension at the end could be missing.
    for (size_t size = 0; size < data.rfind("TREE"); size += 3)
      EXPECT_FALSE(parse_git_index(data.substr(0, size) + std::string(20, '\0'), HashKind::Sha1)) << size;
    std::mt19937 random(3);
    for (int round = 0; round < 3000; ++round) {
      std::string changed = data;
      for (int i = 0; i < 3; ++i) changed[random() % (data.size() - 20)] = static_cast<char>(random());
      static_cast<void>(parse_git_index(changed, HashKind::Sha1));
    }
    git({"update-index", "--index-version", "2"});
  }
}

TEST_F(GitIndex, AFileAsYoungAsTheIndexIsNotTrusted) {
  constexpr int64_t kSecond = 1'000'000'000;
  Found file;
  file.stamp = {7, 100 * kSecond + 5, 200 * kSecond + 6, 9};
  IndexEntry entry;
  entry.modified_seconds = 100, entry.modified_nanoseconds = 5;
  entry.changed_seconds = 200, entry.changed_nanoseconds = 6;
  entry.inode = 9, entry.size = 7;
  EXPECT_TRUE(is_clean(file, entry, 100 * kSecond + 6));
  EXPECT_FALSE(is_clean(file, entry, 100 * kSecond + 5)) << "written in the same tick";
  EXPECT_FALSE(is_clean(file, entry, 99 * kSecond));
  for (auto change : {+[](Found& one) { ++one.stamp.modified_ns; }, +[](Found& one) { ++one.stamp.changed_ns; },
                      +[](Found& one) { ++one.stamp.inode; }, +[](Found& one) { ++one.stamp.size; }}) {
    Found other = file;
    change(other);
    EXPECT_FALSE(is_clean(other, entry, 300 * kSecond));
  }
  // Numbers that do not fit in 32 bits are cut.
  file.stamp.size += uint64_t{1} << 32;
  file.stamp.inode += uint64_t{1} << 32;
  EXPECT_TRUE(is_clean(file, entry, 300 * kSecond));
  file.stamp.size = entry.size = 0;
  EXPECT_FALSE(is_clean(file, entry, 300 * kSecond)) << "git marks files to be read again that way";
}

}  // namespace
}  // namespace cove::change
