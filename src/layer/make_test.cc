#include "layer/make.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "layer/pool_testing.h"
#include "sys/file.h"

namespace cove {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const LayerChoice kFolder = {LayerKind::Folder, kGiB, 0, {}};
const LayerChoice kPool = {LayerKind::Pool, 16 * kMiB, 0, {}};

bool make(Layers& layers, const LayerChoice& choice, const std::string& id, Lifetime lifetime = Lifetime::Long) {
  Result<std::unique_ptr<Layer>> layer = layers.make(choice, id, lifetime);
  EXPECT_TRUE(layer) << layer.error().message();
  if (layer && lifetime == Lifetime::Long) (*layer)->keep();
  return layer.has_value();
}

template <typename T>
Code code_of(const Result<T>& result) {
  return result ? Code::Internal : result.error().code();
}

class FoldersOnly : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/cove-layers-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    state_ = name;
  }
  void TearDown() override { EXPECT_TRUE(sys::remove_tree(state_)); }

  std::string state_;
};

TEST_F(FoldersOnly, AreMadeFoundListedAndRemoved) {
  Layers layers(state_);
  ASSERT_TRUE(make(layers, kFolder, "a"));
  ASSERT_TRUE(make(layers, kFolder, "b"));
  Result<std::unique_ptr<Layer>> run = layers.make(kFolder, "c", Lifetime::OneRun);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_THAT(*layers.list_long(), ElementsAre("a", "b"));
  Result<std::unique_ptr<Layer>> found = Layers(state_).find("a");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)->mount().kind, LayerKind::Folder);
  ASSERT_OK(layers.remove("a"));
  EXPECT_THAT(*layers.list_long(), ElementsAre("b"));
  EXPECT_OK(layers.maintain());
  EXPECT_FALSE(layers.pool_open());
}

TEST_F(FoldersOnly, WhatIsNotThereIsNotFoundAndNothingIsMade) {
  Layers layers(state_ + "/deeper");
  EXPECT_THAT(*layers.list_long(), IsEmpty());
  EXPECT_EQ(code_of(layers.find("a")), Code::NotFound);
  EXPECT_EQ(code_of(layers.remove("a")), Code::NotFound);
  EXPECT_THAT(*sys::list_folder(state_), IsEmpty());
}

TEST_F(FoldersOnly, IdsAreNamesOfOneFolder) {
  Layers layers(state_);
  Result<std::unique_ptr<Layer>> run = layers.make(kFolder, "a", Lifetime::OneRun);
  ASSERT_TRUE(run) << run.error().message();
  for (const char* id : {"", ".", "..", "../layers", "a/b", "run-a"}) {
    EXPECT_EQ(code_of(layers.make(kFolder, id, Lifetime::Long)), Code::Invalid) << id;
    EXPECT_EQ(code_of(layers.find(id)), Code::Invalid) << id;
    EXPECT_EQ(code_of(layers.remove(id)), Code::Invalid) << id;
  }
  EXPECT_TRUE(sys::exists((*run)->mount().folder));
}

TEST_F(Pools, AreOpenedWhenLayersFirstNeedThemAndKept) {
  Layers layers(state_);
  EXPECT_THAT(*layers.list_long(), IsEmpty());
  EXPECT_FALSE(layers.pool_open());
  EXPECT_OK(layers.maintain());
  ASSERT_TRUE(make(layers, kPool, "run", Lifetime::OneRun));
  EXPECT_TRUE(layers.pool_open());
  EXPECT_TRUE(sys::exists(image()));
  ASSERT_TRUE(make(layers, kPool, "a"));
  EXPECT_OK(layers.maintain());
  ASSERT_OK(layers.remove("a"));
  EXPECT_EQ(code_of(layers.remove("a")), Code::NotFound);
  EXPECT_TRUE(sys::exists(image()));
}

TEST_F(Pools, AreListedTogetherWithFolders) {
  {
    Layers layers(state_);
    ASSERT_TRUE(make(layers, kPool, "pooled"));
    ASSERT_TRUE(make(layers, kFolder, "folder"));
  }
  Layers layers(state_);
  EXPECT_THAT(*layers.list_long(), UnorderedElementsAre("pooled", "folder"));
  EXPECT_EQ((*layers.find("pooled"))->mount().kind, LayerKind::Pool);
  EXPECT_EQ((*layers.find("folder"))->mount().kind, LayerKind::Folder);
  ASSERT_OK(layers.remove("pooled"));
  ASSERT_OK(layers.remove("folder"));
  EXPECT_THAT(*layers.list_long(), IsEmpty());
}

TEST_F(Pools, ThatOneProcessKeepsOpenAreUsedByOthers) {
  Layers layers(state_);
  ASSERT_TRUE(make(layers, kPool, "mine"));
  pid_t other = ::fork();
  if (other == 0) {
    Result<std::unique_ptr<Layer>> mine = find_layer(state_, "mine");
    Result<std::unique_ptr<Layer>> run = make_layer(kPool, state_, "run", Lifetime::OneRun);
    Result<std::unique_ptr<Layer>> theirs = make_layer(kPool, state_, "theirs", Lifetime::Long);
    bool written = mine && run && theirs && fill((*mine)->mount().mount, "file", kMiB).errnum == 0;
    if (written) (*theirs)->keep();
    ::_exit(written && (*run)->remove() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  ASSERT_EQ(status, 0);
  EXPECT_THAT(*layers.list_long(), ElementsAre("mine", "theirs"));
  EXPECT_EQ(::faccessat((*layers.find("mine"))->mount().mount, "file", F_OK, 0), 0);
  ASSERT_TRUE(make(layers, kPool, "another"));
  for (const char* id : {"mine", "theirs", "another"}) ASSERT_OK(layers.remove(id));
}

}  // namespace
}  // namespace cove
