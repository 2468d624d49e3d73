#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <cerrno>

#include "base/id.h"
#include "layer/pool.h"
#include "layer/pool_size.h"
#include "layer/pool_testing.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove {
namespace {

using testing::HasSubstr;
using Writes = sys::btrfs::Writes;

// --- Sizes ---

TEST(PoolSize, ANewImageHasRoomForWhatWasAskedForAndMore) {
  for (uint64_t room : {uint64_t{0}, kMiB, kGiB, 100 * kGiB}) {
    EXPECT_GE(image_size(room), room + room / 8 + 512 * kMiB);
    EXPECT_LE(image_size(room), room + room / 8 + kGiB);
    EXPECT_EQ(image_size(room) % (256 * kMiB), 0u);
  }
}

TEST(PoolSize, ANewImageLacksNothing) {
  for (uint64_t room : {uint64_t{0}, 64 * kMiB, kGiB, 4 * kGiB, 20 * kGiB, 100 * kGiB}) {
    uint64_t size = image_size(room);
    uint64_t chunk = std::min(size / 10, 256 * kMiB);  // of metadata, made with it
    EXPECT_EQ(missing_bytes({size, size - chunk - 32 * kMiB, 8 * kMiB, chunk - 16 * kMiB}, room), 0u) << room;
  }
}

TEST(PoolSize, WhatIsFreeInChunksCountsForItsKindOnly) {
  PoolSpace space = {5 * kGiB, 4 * kGiB, 0, 0};
  uint64_t missing = missing_bytes(space, 4 * kGiB);
  EXPECT_EQ(missing, kGiB);  // all of it for metadata
  space.data_free = kGiB / 4;
  EXPECT_EQ(missing_bytes(space, 4 * kGiB), missing - kGiB / 4);
  space.data_free = 100 * kGiB;
  EXPECT_EQ(missing_bytes(space, 4 * kGiB), 0u);
  space.unallocated = 0;
  EXPECT_EQ(missing_bytes(space, 4 * kGiB), kGiB);
  space.metadata_free = kGiB;
  EXPECT_EQ(missing_bytes(space, 4 * kGiB), 0u);
  space.data_free = 0;
  EXPECT_EQ(missing_bytes(space, 4 * kGiB), 4 * kGiB);
}

TEST(PoolSize, TheNextChunkOfDataLeavesRoomForMetadata) {
  // Little is to be written, but the chunk for it will be of 1 GiB.
  EXPECT_EQ(missing_bytes({100 * kGiB, 0, 0, 0}, 16 * kMiB), 16 * kMiB + 512 * kMiB + kGiB);
}

TEST(PoolSize, TheHostKeepsATwentiethWithinBounds) {
  EXPECT_EQ(host_reserve(kGiB), 256 * kMiB);
  EXPECT_EQ(host_reserve(40 * kGiB), 2 * kGiB);
  EXPECT_EQ(host_reserve(1000 * kGiB), 4 * kGiB);
}

TEST(PoolSize, TheReserveIsSmallerOnASmallDisk) {
  EXPECT_EQ(pool_reserve(kGiB, kPoolReserve), 256 * kMiB);
  EXPECT_EQ(pool_reserve(40 * kGiB, kPoolReserve), 2 * kGiB);
  EXPECT_EQ(pool_reserve(1000 * kGiB, kPoolReserve), 4 * kGiB);
  EXPECT_EQ(pool_reserve(1000 * kGiB, 64 * kMiB), 64 * kMiB);
}

// --- The real thing ---

TEST_F(Pools, GrowAndAreAllocatedThroughout) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  struct stat before = *sys::stat(image());
  std::unique_ptr<Layer> layer = create(*pool, "large", Lifetime::OneRun, 600 * kMiB);
  ASSERT_TRUE(layer);
  struct stat after = *sys::stat(image());
  EXPECT_GT(after.st_size, before.st_size);
  EXPECT_GE(after.st_blocks * 512, after.st_size);
  struct statvfs info;
  ASSERT_EQ(::fstatvfs(layer->mount().mount, &info), 0);
  EXPECT_GE(info.f_bavail * info.f_frsize, 600 * kMiB);
  EXPECT_EQ(fill(layer->mount().mount, "file", 32 * kMiB).errnum, 0);
}

TEST_F(Pools, GiveBackWhatNoLayerNeeds) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> stays = create(*pool, "stays", Lifetime::OneRun, 64 * kMiB);
  ASSERT_TRUE(stays);
  std::unique_ptr<Layer> layer = create(*pool, "large", Lifetime::OneRun, 6 * kGiB);
  ASSERT_TRUE(layer);
  const off_t large = sys::stat(image())->st_size;
  ASSERT_TRUE(layer->remove());
  // Not at once: the next run may want it.
  const auto now = std::chrono::steady_clock::now();
  ASSERT_TRUE(pool->maintain(now));
  EXPECT_EQ(sys::stat(image())->st_size, large);
  ASSERT_TRUE(pool->maintain(now + Pool::kSpareHolds));
  struct stat after = *sys::stat(image());
  EXPECT_LE(after.st_size, large - static_cast<off_t>(4 * kGiB));
  EXPECT_LE(after.st_blocks * 512, large - static_cast<off_t>(4 * kGiB));
  // What is there still works, and there is room again for who wants it.
  EXPECT_EQ(fill(stays->mount().mount, "file", 32 * kMiB).errnum, 0);
  EXPECT_TRUE(create(*pool, "next", Lifetime::OneRun, 3 * kGiB));
}

// Takes room in pieces of 32 MiB until there is no more, with `between` after each.
template <typename Between>
Written take_room(int folder, const char* name, uint64_t most, Between between) {
  constexpr uint64_t kPiece = 32 * kMiB;
  Written taken;
  UniqueFd file(::openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  for (; taken.bytes < most && taken.errnum == 0; taken.bytes += taken.errnum == 0 ? kPiece : 0) {
    if (::fallocate(file.get(), 0, static_cast<off_t>(taken.bytes), kPiece) < 0) taken.errnum = errno;
    between();
  }
  return taken;
}
Written take_room(int folder, const char* name, uint64_t most) {
  return take_room(folder, name, most, [] {});
}

class PoolReserves : public Pools {
 protected:
  static constexpr uint64_t kReserve = 256 * kMiB;

  std::shared_ptr<Pool> open_with_reserve(uint64_t bytes = kReserve) {
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom}, bytes);
    EXPECT_TRUE(pool) << pool.error().message();
    return pool ? *pool : nullptr;
  }
};

TEST_F(PoolReserves, LongLayersHaveTheirWholeLimitAtOnce) {
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a", Lifetime::Long, 200 * kMiB);
  ASSERT_TRUE(layer);
  Written taken = take_room(layer->mount().mount, "file", kGiB);
  EXPECT_EQ(taken.errnum, EDQUOT);
  EXPECT_EQ(taken.bytes, 192 * kMiB);
  ASSERT_OK(layer->remove());
}

TEST_F(PoolReserves, FiveHundredIdleLayersShareOne) {
  constexpr int kLayers = 500;
  std::shared_ptr<Pool> pool = open_with_reserve();
  ASSERT_TRUE(pool);
  struct statvfs disk;
  ASSERT_EQ(::statvfs(state_.c_str(), &disk), 0);
  ASSERT_LT(disk.f_bavail * disk.f_frsize, kLayers * 10 * kGiB) << "this disk is too large for the test";
  for (int i = 0; i < kLayers; ++i) ASSERT_TRUE(create(*pool, make_id(), Lifetime::Long, 10 * kGiB));
  EXPECT_LE(sys::stat(image())->st_size, static_cast<off_t>(3 * kGiB));
  ASSERT_OK(pool->maintain());
  EXPECT_LE(sys::stat(image())->st_size, static_cast<off_t>(3 * kGiB));
  std::vector<std::string> all = ids(*pool);
  EXPECT_EQ(all.size(), static_cast<size_t>(kLayers));
  for (const std::string& id : all) ASSERT_OK(pool->remove(id));
}

TEST_F(PoolReserves, AreFilledUpAgainForWhoeverWrites) {
  constexpr uint64_t kMuch = 2 * kGiB;
  std::shared_ptr<Pool> pool = open_with_reserve();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a", Lifetime::Long, 10 * kGiB);
  ASSERT_TRUE(layer);
  int folder = layer->mount().mount;
  Written tended = take_room(folder, "tended", kMuch, [&] { EXPECT_TRUE(pool->maintain()); });
  EXPECT_EQ(tended.errnum, 0);
  EXPECT_EQ(tended.bytes, kMuch);
  Written untended = take_room(folder, "untended", kMuch);
  EXPECT_EQ(untended.errnum, ENOSPC);
  EXPECT_GE(untended.bytes, kReserve);
  // Metadata has room where data has none.
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(::mkdirat(folder, concat("folder", i).c_str(), 0700), 0) << i;
  ASSERT_OK(pool->maintain());
  EXPECT_GE(take_room(folder, "more", kReserve).bytes, kReserve);
  ASSERT_OK(layer->remove());
}

TEST_F(PoolReserves, AreNoLargerThanWhatLayersCanWrite) {
  std::shared_ptr<Pool> pool = Pool::open(state_, {Lifetime::OneRun, kRoom}, 100 * kGiB).value_or(nullptr);
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a", Lifetime::Long, 64 * kMiB);
  ASSERT_TRUE(layer);
  EXPECT_LE(sys::stat(image())->st_size, static_cast<off_t>(kGiB));
  ASSERT_OK(pool->fork("a", "b", Writes::Allowed));
  EXPECT_LE(sys::stat(image())->st_size, static_cast<off_t>(2 * kGiB));
  ASSERT_OK(pool->remove("b"));
  ASSERT_OK(layer->remove());
}

TEST_F(PoolReserves, AreHeldInFullForMoreThanAFewLayers) {
  std::shared_ptr<Pool> pool = open_with_reserve(2 * kReserve);
  ASSERT_TRUE(pool);
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) ASSERT_TRUE(create(*pool, id, Lifetime::Long, kMiB));
  off_t few = sys::stat(image())->st_size;
  ASSERT_TRUE(create(*pool, "i", Lifetime::Long, kMiB));
  ASSERT_TRUE(create(*pool, "j", Lifetime::Long, kMiB));
  EXPECT_GE(sys::stat(image())->st_size, few + static_cast<off_t>(kReserve));
  for (const std::string& id : ids(*pool)) ASSERT_OK(pool->remove(id));
}

TEST_F(PoolReserves, AreBesidesWhatLayersOfOneRunWerePromised) {
  constexpr uint64_t kPromised = 1536 * kMiB;
  constexpr uint64_t kWritten = 1280 * kMiB;
  std::shared_ptr<Pool> pool = open_with_reserve();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> run = create(*pool, "run", Lifetime::OneRun, kPromised);
  std::unique_ptr<Layer> layer = create(*pool, "long", Lifetime::Long, 10 * kGiB);
  ASSERT_TRUE(run && layer);
  EXPECT_EQ(take_room(layer->mount().mount, "file", kWritten, [&] { EXPECT_TRUE(pool->maintain()); }).errnum, 0);
  EXPECT_GE(sys::stat(image())->st_size, static_cast<off_t>(kWritten + kPromised + kReserve));
  Written taken = take_room(run->mount().mount, "file", 2 * kPromised);
  EXPECT_EQ(taken.errnum, EDQUOT);
  EXPECT_EQ(taken.bytes, kPromised);
  ASSERT_OK(layer->remove());
}

// A small disk of its own, that nobody else sees.
class PoolsOnASmallDisk : public Pools {
 protected:
  void SetUp() override {
    Pools::SetUp();
    if (state_.empty()) return;
    ASSERT_OK(sys::unshare(CLONE_NEWNS));
    ASSERT_OK(sys::make_mounts_private());
    disk_ = state_ + "/disk";
    ASSERT_OK(sys::mkdir(disk_, 0700));
    Result<UniqueFd> small = sys::make_mount("tmpfs", {{"size", "1100m"}, {"mode", "0700"}}, 0);
    ASSERT_TRUE(small) << small.error().message();
    ASSERT_OK(sys::attach_mount(small->get(), AT_FDCWD, disk_));
  }
  void TearDown() override {
    bool mounted = !disk_.empty();
    EXPECT_TRUE(!mounted || ::syscall(SYS_umount2, disk_.c_str(), 2 /* MNT_DETACH */) == 0);
    Pools::TearDown();
  }
  void fill_disk() {
    UniqueFd host = *sys::open(disk_, O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(take_room(host.get(), "filler", 2 * kGiB).errnum, ENOSPC);
  }

  std::string disk_;
};

TEST_F(PoolsOnASmallDisk, StopGrowingAndStayWritable) {
  Result<std::shared_ptr<Pool>> pool = Pool::open(disk_, {Lifetime::OneRun, 64 * kMiB});
  ASSERT_TRUE(pool) << pool.error().message();
  std::unique_ptr<Layer> layer = create(**pool, "a", Lifetime::OneRun, 64 * kMiB);
  ASSERT_TRUE(layer);
  fill_disk();
  Result<std::unique_ptr<Layer>> another = (*pool)->create("b", Lifetime::OneRun, 500 * kMiB);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().code(), Code::Exhausted);
  EXPECT_THAT(another.error().message(), HasSubstr("stay free"));
  Written written = fill(layer->mount().mount, "file", kGiB);
  EXPECT_EQ(written.errnum, EDQUOT);
  EXPECT_GE(written.bytes, 64 * kMiB);
  ASSERT_EQ(::unlinkat(layer->mount().mount, "file", 0), 0);
  EXPECT_EQ(fill(layer->mount().mount, "again", 32 * kMiB).errnum, 0);
}

TEST_F(PoolsOnASmallDisk, EndForLongLayersAndAreUsableAgainWhenTheseRemoveFiles) {
  Result<std::shared_ptr<Pool>> pool = Pool::open(disk_, {Lifetime::OneRun, 64 * kMiB}, 64 * kMiB);
  ASSERT_TRUE(pool) << pool.error().message();
  std::unique_ptr<Layer> layer = create(**pool, "a", Lifetime::Long, 10 * kGiB);
  ASSERT_TRUE(layer);
  int folder = layer->mount().mount;
  fill_disk();
  Written written = fill(folder, "file", 2 * kGiB);
  EXPECT_EQ(written.errnum, ENOSPC);
  EXPECT_GE(written.bytes, 64 * kMiB);
  Result<void> tended = (*pool)->maintain();
  ASSERT_FALSE(tended);
  EXPECT_EQ(tended.error().code(), Code::Exhausted);
  EXPECT_THAT(tended.error().message(), HasSubstr("grow the pool"));
  Result<std::unique_ptr<Layer>> another = (*pool)->create("b", Lifetime::Long, 10 * kGiB);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().code(), Code::Exhausted);
  ASSERT_EQ(::unlinkat(folder, "file", 0), 0);
  EXPECT_EQ(fill(folder, "again", 64 * kMiB).errnum, 0);
  ASSERT_OK(layer->remove());
}

}  // namespace
}  // namespace cove
