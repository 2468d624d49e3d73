#include "layer/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>

#include "layer/pool_testing.h"
#include "sys/file.h"

namespace cove {
namespace {

using sys::btrfs::Writes;
using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(Pools, LeaveNothingWhenTheLastLayerIsGone) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  EXPECT_TRUE(any_loop_on(state_ + "/"));
  std::unique_ptr<Layer> layer = create(*pool, "a");
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->mount().kind, LayerKind::Pool);
  pool.reset();
  EXPECT_EQ(fill(layer->mount().mount, "file", kMiB).errnum, 0);
  ASSERT_OK(layer->remove());
  EXPECT_TRUE(layer->remove());
  EXPECT_FALSE(sys::exists(image()));
  EXPECT_FALSE(any_loop_on(state_ + "/"));
  EXPECT_THAT(*sys::list_folder(state_), ElementsAre("pool.lock"));
}

TEST_F(Pools, LimitALayerAndStillLetFilesBeRemoved) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a");
  ASSERT_TRUE(layer);
  int folder = layer->mount().mount;
  Written written = fill(folder, "file", 4 * kRoom);
  EXPECT_EQ(written.errnum, EDQUOT);
  EXPECT_GE(written.bytes, kRoom);
  EXPECT_LE(written.bytes, kRoom + kLayerSlack);
  Result<uint64_t> usage = layer->usage();
  ASSERT_TRUE(usage) << usage.error().message();
  EXPECT_GE(*usage, written.bytes);
  EXPECT_LE(*usage, kRoom + kLayerSlack);
  ASSERT_EQ(::unlinkat(folder, "file", 0), 0);
  EXPECT_EQ(fill(folder, "again", kRoom / 2).errnum, 0);
}

TEST_F(Pools, ChangeTheLimitOfAKeptLayer) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = pool->create("a", Lifetime::Long, kRoom).value();
  int folder = layer->mount().mount;
  EXPECT_EQ(fill(folder, "file", 4 * kRoom).errnum, EDQUOT);
  ASSERT_OK(pool->change_limit("a", 2 * kRoom));
  EXPECT_EQ(fill(folder, "more", kRoom / 2).errnum, 0);
  Result<void> refused = pool->change_limit("a", kMiB);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::Conflict);
  EXPECT_EQ(fill(folder, "beyond", 4 * kRoom).errnum, EDQUOT);
  EXPECT_EQ(pool->change_limit("b", kRoom).error().code(), Code::NotFound);
}

TEST_F(Pools, DoNotLetOneLayerFillTheOthers) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> greedy = create(*pool, "greedy");
  std::unique_ptr<Layer> modest = create(*pool, "modest");
  ASSERT_TRUE(greedy && modest);
  EXPECT_EQ(fill(greedy->mount().mount, "file", 4 * kRoom).errnum, EDQUOT);
  EXPECT_EQ(fill(modest->mount().mount, "file", kRoom).errnum, 0);
}

TEST_F(Pools, AreSharedByAllWhoOpenThem) {
  std::shared_ptr<Pool> first = open();
  std::shared_ptr<Pool> second = open();
  ASSERT_TRUE(first && second);
  std::unique_ptr<Layer> a = create(*first, "a");
  std::unique_ptr<Layer> b = create(*second, "b");
  ASSERT_TRUE(a && b);
  EXPECT_THAT(ids(*first), ElementsAre("a", "b"));
  EXPECT_THAT(ids(*second), ElementsAre("a", "b"));
  first.reset();
  ASSERT_OK(a->remove());
  EXPECT_TRUE(sys::exists(image()));
  EXPECT_EQ(fill(b->mount().mount, "file", kMiB).errnum, 0);
  second.reset();
  ASSERT_OK(b->remove());
  EXPECT_FALSE(sys::exists(image()));
}

TEST_F(Pools, ForgetTheLayersOfKilledProcessesOnly) {
  sys::Pipe ready = *sys::pipe();
  pid_t holder = ::fork();
  if (holder == 0) {
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom});
    auto layer = pool ? (*pool)->create("held", Lifetime::OneRun, kRoom) : std::unexpected(pool.error());
    static_cast<void>(::write(ready.write.get(), layer ? "y" : "n", 1));
    ::pause();
  }
  ready.write.reset();
  char word = 0;
  ASSERT_EQ(::read(ready.read.get(), &word, 1), 1);
  ASSERT_EQ(word, 'y');
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  EXPECT_THAT(ids(*pool), ElementsAre("held"));
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_THAT(ids(*open()), IsEmpty());
}

TEST_F(Pools, AreNotMountedAnyMoreWhenTheirOnlyUserIsKilled) {
  pid_t child = ::fork();
  if (child == 0) {
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom});
    auto layer = pool ? (*pool)->create("a", Lifetime::OneRun, kRoom) : std::unexpected(pool.error());
    ::_exit(layer ? 0 : 1);  // without a destructor
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_FALSE(any_loop_on(state_ + "/"));
  EXPECT_TRUE(sys::exists(image()));
  open();
  EXPECT_FALSE(sys::exists(image()));
}

template <typename Work>
pid_t start_process(Work work) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  return child;
}

bool succeeds(pid_t process) {
  int status = -1;
  return ::waitpid(process, &status, 0) == process && status == 0;
}

TEST_F(Pools, AreRemovedByAChildThatCleansUpAfterItsParent) {
  sys::Pipe orphaned = *sys::pipe();
  sys::Pipe done = *sys::pipe();
  pid_t parent = start_process([&] {
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom});
    auto layer = pool ? (*pool)->create("a", Lifetime::OneRun, kRoom) : std::unexpected(pool.error());
    if (!layer) return false;
    start_process([&] {
      char word;
      orphaned.write.reset();
      done.read.reset();
      return ::read(orphaned.read.get(), &word, 1) == 0 && (*layer)->remove() && ::write(done.write.get(), "y", 1) == 1;
    });
    ::_exit(0);  // without a destructor
  });
  ASSERT_TRUE(succeeds(parent));
  EXPECT_TRUE(sys::exists(image()));
  orphaned.write.reset();
  done.write.reset();
  char word = 'n';
  ASSERT_EQ(::read(done.read.get(), &word, 1), 1);
  EXPECT_EQ(::read(done.read.get(), &word, 1), 0);  // it has ended
  EXPECT_FALSE(sys::exists(image()));
}

TEST_F(Pools, StayWhileTheParentOfAChildThatCleansUpHasThemOpen) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a");
  ASSERT_TRUE(layer);
  EXPECT_TRUE(succeeds(start_process([&] { return layer->remove().has_value(); })));
  ASSERT_OK(layer->remove());
  EXPECT_TRUE(sys::exists(image()));
  EXPECT_TRUE(create(*pool, "b"));
  pool.reset();
  EXPECT_FALSE(sys::exists(image()));
}

TEST_F(Pools, KeepLongLayers) {
  std::unique_ptr<Layer> layer = create(*open(), "a", Lifetime::Long);
  ASSERT_TRUE(layer);
  EXPECT_EQ(fill(layer->mount().mount, "file", kMiB).errnum, 0);
  layer.reset();
  EXPECT_FALSE(any_loop_on(state_ + "/"));
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  EXPECT_THAT(ids(*pool), ElementsAre("a"));
  Result<std::unique_ptr<Layer>> found = pool->find("a");
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(::faccessat((*found)->mount().mount, "file", F_OK, 0), 0);
  EXPECT_EQ(fill((*found)->mount().mount, "more", 4 * kRoom).errnum, EDQUOT);
  ASSERT_OK((*found)->remove());
}

TEST_F(Pools, ForkAndFreezeLayers) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a", Lifetime::Long);
  ASSERT_TRUE(layer);
  EXPECT_EQ(fill(layer->mount().mount, "file", kMiB).errnum, 0);
  ASSERT_OK(pool->fork("a", "b", Writes::Allowed));
  ASSERT_EQ(::unlinkat(layer->mount().mount, "file", 0), 0);
  Result<std::unique_ptr<Layer>> copy = pool->find("b");
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_EQ(::faccessat((*copy)->mount().mount, "file", F_OK, 0), 0);
  EXPECT_EQ(fill((*copy)->mount().mount, "more", 4 * kRoom).errnum, EDQUOT);
  ASSERT_OK(pool->freeze("b"));
  EXPECT_EQ(fill((*copy)->mount().mount, "late", kMiB).errnum, EROFS);
  // What is made of a frozen layer has the limit that the layer had.
  ASSERT_OK(pool->freeze("a"));
  ASSERT_OK(pool->fork("a", "c", Writes::Allowed));
  Written written = fill((*pool->find("c"))->mount().mount, "file", 4 * kRoom);
  EXPECT_EQ(written.errnum, EDQUOT);
  EXPECT_GE(written.bytes, kRoom);
  ASSERT_OK(pool->remove("c"));
  EXPECT_EQ(pool->remove("c").error().code(), Code::NotFound);
  layer->remove();
  ASSERT_OK(pool->remove("b"));
  EXPECT_THAT(ids(*pool), IsEmpty());
}

TEST_F(Pools, AStateFolderThatOthersCanWriteToIsRefused) {
  ASSERT_EQ(::chmod(state_.c_str(), 0775), 0);
  Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom});
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().code(), Code::Denied);
}

}  // namespace
}  // namespace cove
