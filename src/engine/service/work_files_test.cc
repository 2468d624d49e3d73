#include "engine/service/work_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace cove::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(WorkFiles, ChangedAreNewOnesAndOthersByTimeAndSize) {
  Surroundings before, after;
  before.files = {{"same", {1, 10}}, {"longer", {1, 10}}, {"later", {1, 10}}, {"gone", {1, 10}}};
  after.files = {{"same", {1, 10}}, {"longer", {2, 10}}, {"later", {1, 11}}, {"new", {0, 1}}};
  EXPECT_THAT(changed_paths(before, after), ElementsAre("later", "longer", "new"));
}

// A folder of this machine, seen as one of a sandbox.
class FolderView : public View {
 public:
  Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
    if (!fd) return fail_errno(concat("open ", path));
    return fd;
  }
  Result<FileEntry> stat(const std::string& path, Links links) override {
    struct stat info = {};
    const int done = links == Links::Keep ? ::lstat(path.c_str(), &info) : ::stat(path.c_str(), &info);
    if (done < 0) return fail_errno(concat("stat ", path));
    FileEntry entry;
    entry.name = std::filesystem::path(path).filename();
    entry.mode = info.st_mode;
    entry.size = static_cast<uint64_t>(info.st_size);
    entry.mtime_ns = static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
    return entry;
  }
  Result<std::vector<FileEntry>> list(const std::string& path) override {
    std::vector<FileEntry> entries;
    for (const auto& each : std::filesystem::directory_iterator(path))
      entries.push_back(COVE_TRY(stat(each.path(), Links::Keep)));
    return entries;
  }
  Result<std::vector<FileEntry>> glob(const std::string& pattern, const std::string& folder) override {
    Result<FileEntry> entry = stat(concat(folder, "/", pattern), Links::Keep);
    if (!entry) return std::vector<FileEntry>();
    entry->name = pattern;
    return std::vector<FileEntry>{*entry};
  }
  Result<void> mkdir(const std::string&, mode_t, Depth) override { return {}; }
  Result<void> remove(const std::string&, Depth) override { return {}; }
  Result<void> rename(const std::string&, const std::string&) override { return {}; }
  Result<void> chmod(const std::string&, mode_t) override { return {}; }
  Result<std::string> readlink(const std::string&) override { return std::string(); }
  Result<void> symlink(const std::string&, const std::string&) override { return {}; }
  Result<int> watch(const std::string&, uint32_t) override { return 0; }
  Result<void> unwatch(int) override { return {}; }
  int events_fd() const override { return -1; }
};

class Collect : public testing::Test {
 protected:
  Collect() {
    char name[] = "/tmp/cove-work-files-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Collect() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& data) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << data;
  }
  static std::vector<std::string> paths(const Produced& produced) {
    std::vector<std::string> paths;
    for (const OutputFile& file : produced.files) paths.push_back(file.path);
    return paths;
  }

  FolderView view_;
  std::string folder_;
};

TEST_F(Collect, WhatWasMadeOrChangedWithItsContent) {
  write("old", "1");
  write("changed", "1");
  const Surroundings before = look_around(view_, folder_);
  write("changed", "22");
  write("out/new", "3");
  write(".hidden", "4");
  write("__pycache__/x", "5");
  const Produced produced = collect_changed(view_, folder_, before);
  EXPECT_THAT(paths(produced), ElementsAre("changed", "out/new"));
  EXPECT_EQ(produced.files[0].content, "22");
  EXPECT_EQ(produced.files[0].bytes, 2u);
  EXPECT_FALSE(produced.files[0].truncated);
  EXPECT_THAT(produced.left_out, IsEmpty());
}

TEST_F(Collect, WhatMatchesAndFoldersWithAllThatIsInThem) {
  write("out/a", "1");
  write("out/.b", "2");
  const Produced produced = collect_matching(view_, folder_, {"out", "none"});
  EXPECT_THAT(paths(produced), ElementsAre("out/.b", "out/a"));
  ASSERT_EQ(produced.left_out.size(), 1u);
  EXPECT_EQ(produced.left_out[0].what, "give back none");
}

TEST_F(Collect, NeverFollowsALink) {
  write("secret", "1");
  std::filesystem::create_symlink("secret", folder_ + "/link");
  std::filesystem::create_directory_symlink("/etc", folder_ + "/etc");
  const Produced produced = collect_matching(view_, folder_, {"link", "etc/passwd"});
  EXPECT_THAT(produced.files, IsEmpty());
  ASSERT_EQ(produced.left_out.size(), 2u);
  EXPECT_THAT(produced.left_out[0].why, HasSubstr("link"));
  EXPECT_THAT(produced.left_out[1].why, HasSubstr("behind a link"));
}

TEST_F(Collect, CutsWhatIsTooLongAndSaysWhatIsTooMuch) {
  write("long", std::string(kMostOfFile + 5, 'x'));
  for (size_t i = 0; i < kMostFiles; ++i) write("many/" + std::to_string(i), "");
  const Produced produced = collect_matching(view_, folder_, {"long", "many"});
  EXPECT_EQ(produced.files.size(), kMostFiles);
  EXPECT_TRUE(produced.files[0].truncated);
  EXPECT_EQ(produced.files[0].content->size(), kMostOfFile);
  EXPECT_EQ(produced.files[0].bytes, kMostOfFile + 5);
  ASSERT_EQ(produced.left_out.size(), 1u);
  EXPECT_THAT(produced.left_out[0].what, HasSubstr("1 more file"));
}

}  // namespace
}  // namespace cove::engine
