#include "layer/folder_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FolderLayers : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-layer-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    state_ = name;
  }
  void TearDown() override { EXPECT_TRUE(sys::remove_tree(state_)); }

  std::unique_ptr<FolderLayer> create(const std::string& id, Lifetime lifetime = Lifetime::OneRun) {
    Result<std::unique_ptr<FolderLayer>> layer = FolderLayer::create(state_, id, lifetime);
    EXPECT_TRUE(layer) << layer.error().message();
    return layer ? std::move(*layer) : nullptr;
  }
  std::vector<std::string> layers() {
    return sys::list_folder(state_ + "/layers").value_or(std::vector<std::string>());
  }

  std::string state_;
};

TEST_F(FolderLayers, MakesAFolderAndRemovesItWithWhateverIsInIt) {
  std::unique_ptr<FolderLayer> layer = create("a");
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->mount().kind, LayerKind::Folder);
  ASSERT_TRUE(sys::make_folders(layer->mount().folder + "/upper/x/y"));
  ASSERT_TRUE(sys::write_file(layer->mount().folder + "/upper/x/y/z", "data"));
  EXPECT_TRUE(layer->remove());
  EXPECT_TRUE(layer->remove());
  EXPECT_THAT(layers(), IsEmpty());
}

TEST_F(FolderLayers, RemovesItselfUnlessKept) {
  create("gone");
  std::unique_ptr<FolderLayer> kept = create("kept", Lifetime::Long);
  ASSERT_TRUE(kept);
  kept->keep();
  kept.reset();
  EXPECT_THAT(layers(), ElementsAre("kept"));
  Result<std::unique_ptr<FolderLayer>> again = FolderLayer::find(state_, "kept");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE((*again)->remove());
  EXPECT_FALSE(FolderLayer::find(state_, "kept"));
}

TEST_F(FolderLayers, MeasuresEachFileOnce) {
  std::unique_ptr<FolderLayer> layer = create("a");
  ASSERT_TRUE(layer);
  std::string folder = layer->mount().folder;
  uint64_t before = *layer->usage();
  ASSERT_TRUE(sys::write_file(folder + "/file", std::string(1 << 20, 'x')));
  ASSERT_EQ(::link((folder + "/file").c_str(), (folder + "/again").c_str()), 0);
  ASSERT_EQ(::truncate((folder + "/file").c_str(), 1 << 30), 0);  // a hole
  Result<uint64_t> usage = layer->usage();
  ASSERT_TRUE(usage) << usage.error().message();
  EXPECT_GE(*usage - before, 1u << 20);
  EXPECT_LE(*usage - before, (1u << 20) + (64u << 10));
}

TEST_F(FolderLayers, NeitherMeasuresNorRemovesThroughLinks) {
  std::string outside = state_ + "/outside";
  ASSERT_TRUE(sys::make_folders(outside));
  ASSERT_TRUE(sys::write_file(outside + "/precious", std::string(1 << 20, 'x')));
  std::unique_ptr<FolderLayer> layer = create("a");
  ASSERT_TRUE(layer);
  ASSERT_TRUE(sys::symlink(outside, layer->mount().folder + "/link"));
  EXPECT_LT(*layer->usage(), 1u << 20);
  EXPECT_TRUE(layer->remove());
  EXPECT_TRUE(sys::exists(outside + "/precious"));
}

TEST_F(FolderLayers, TreesDeeperThanThereAreDescriptorsAreMeasuredAndRemoved) {
  std::unique_ptr<FolderLayer> layer = create("a");
  ASSERT_TRUE(layer);
  Result<UniqueFd> here = sys::open(layer->mount().folder, O_RDONLY | O_DIRECTORY);
  struct rlimit usual;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  struct rlimit few = {64, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  for (int depth = 0; depth < 200; ++depth) {
    ASSERT_TRUE(sys::mkdirat(here->get(), "d", 0755));
    here = sys::openat(here->get(), "d", O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(here);
  }
  EXPECT_TRUE(layer->usage());
  Result<void> removed = layer->remove();
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_THAT(layers(), IsEmpty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
}

TEST_F(FolderLayers, FoldersWithoutAnyRightsAreRemoved) {
  std::unique_ptr<FolderLayer> layer = create("a");
  ASSERT_TRUE(layer);
  std::string closed = layer->mount().folder + "/closed";
  ASSERT_TRUE(sys::make_folders(closed + "/deeper"));
  ASSERT_EQ(::chmod((closed + "/deeper").c_str(), 0), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0), 0);
  EXPECT_TRUE(layer->remove());
}

TEST_F(FolderLayers, TheNextOneRemovesWhatAKilledProcessLeft) {
  std::unique_ptr<FolderLayer> alive = create("alive");
  ASSERT_TRUE(alive);
  pid_t child = ::fork();
  if (child == 0) {
    auto layer = FolderLayer::create(state_, "dead", Lifetime::OneRun);
    ::_exit(layer ? 0 : 1);  // without its destructor
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(layers(), ElementsAre("run-alive", "run-dead"));
  std::unique_ptr<FolderLayer> next = create("next");
  EXPECT_THAT(layers(), ElementsAre("run-alive", "run-next"));
}

TEST_F(FolderLayers, AStateFolderThatOthersCanWriteToIsRefused) {
  ASSERT_EQ(::chmod(state_.c_str(), 0777), 0);
  Result<std::unique_ptr<FolderLayer>> layer = FolderLayer::create(state_, "a", Lifetime::OneRun);
  ASSERT_FALSE(layer);
  EXPECT_EQ(layer.error().code(), Code::Denied);
  EXPECT_THAT(layer.error().hint(), testing::HasSubstr("COVE_STATE"));
}

}  // namespace
}  // namespace cove
