#include "layer/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "layer/make.h"
#include "layer/pool_size.h"
#include "sys/file.h"
#include "sys/mount.h"
#include "sys/process.h"

namespace cove {
namespace {

using sys::btrfs::Writes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- Sizes ---

TEST(PoolSize, TheImageHasRoomForAllGrantsAndMore) {
  for (uint64_t granted : {uint64_t{0}, kMiB, kGiB, 100 * kGiB}) {
    EXPECT_GE(image_size(granted), granted + granted / 8 + 512 * kMiB);
    EXPECT_LE(image_size(granted), granted + granted / 8 + kGiB);
    EXPECT_EQ(image_size(granted) % (256 * kMiB), 0u);
  }
}

TEST(PoolSize, TheHostKeepsATwentiethWithinBounds) {
  EXPECT_EQ(host_reserve(kGiB), 256 * kMiB);
  EXPECT_EQ(host_reserve(40 * kGiB), 2 * kGiB);
  EXPECT_EQ(host_reserve(1000 * kGiB), 4 * kGiB);
}

TEST(PoolSize, GrantsGrowBeforeTheyAreUsedUpAndNeverBeyondTheLimit) {
  EXPECT_EQ(next_grant(0, kGiB, 10 * kGiB), kGiB);
  EXPECT_EQ(next_grant(kGiB / 2, kGiB, 10 * kGiB), kGiB);
  EXPECT_EQ(next_grant(kGiB / 2 + 1, kGiB, 10 * kGiB), 2 * kGiB);
  EXPECT_EQ(next_grant(kGiB, kGiB, kGiB + 1), kGiB + 1);
  EXPECT_EQ(next_grant(kGiB, kGiB, kGiB), kGiB);
}

// --- The real thing ---

std::string why_not() {
  LayerFacts facts = find_layer_facts("/tmp");
  return facts.no_pool;
}

#define SKIP_WITHOUT_POOL()                                                                                       \
  do {                                                                                                            \
    std::string reason = why_not();                                                                               \
    const char* strict = ::getenv("COVE_TEST_STRICT");                                                            \
    if (!reason.empty() && strict != nullptr && std::string_view(strict) == "1") FAIL() << "no pool: " << reason; \
    if (!reason.empty()) GTEST_SKIP() << "no pool: " << reason;                                                   \
  } while (false)

#define ASSERT_OK(...)                                                 \
  do {                                                                 \
    auto ok_result = (__VA_ARGS__);                                    \
    ASSERT_TRUE(ok_result.has_value()) << ok_result.error().message(); \
  } while (false)

bool any_loop_on(const std::string& folder) {
  for (const std::string& name : sys::list_folder("/sys/block").value_or(std::vector<std::string>())) {
    Result<std::string> file = sys::read_file(concat("/sys/block/", name, "/loop/backing_file"), 4096);
    if (file && file->starts_with(folder)) return true;
  }
  return false;
}

// Writes up to `most` bytes into a new file of the folder; how many it took, and why no more.
struct Written {
  uint64_t bytes = 0;
  int errnum = 0;
};
Written fill(int folder, const char* name, uint64_t most) {
  Written written;
  UniqueFd file(::openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  static const std::string block(256 * kKiB, 'x');
  while (file && written.bytes < most) {
    ssize_t count = ::write(file.get(), block.data(), block.size());
    if (count < 0) {
      written.errnum = errno;
      return written;
    }
    written.bytes += static_cast<uint64_t>(count);
  }
  if (!file || ::fsync(file.get()) < 0) written.errnum = errno;
  return written;
}

class Pools : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_POOL();
    char name[] = "/tmp/cove-pool-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    state_ = name;
  }
  void TearDown() override {
    if (state_.empty()) return;
    EXPECT_FALSE(any_loop_on(state_ + "/"));
    EXPECT_TRUE(sys::remove_tree(state_));
  }

  std::string image() const { return state_ + "/pool.img"; }
  std::shared_ptr<Pool> open() {
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, kRoom);
    EXPECT_TRUE(pool) << pool.error().message();
    return pool ? *pool : nullptr;
  }
  static std::unique_ptr<Layer> create(Pool& pool, const std::string& id, Lifetime lifetime = Lifetime::OneRun,
                                       uint64_t bytes = kRoom) {
    Result<std::unique_ptr<Layer>> layer = pool.create(id, lifetime, bytes);
    EXPECT_TRUE(layer) << layer.error().message();
    if (layer && lifetime == Lifetime::Long) (*layer)->keep();
    return layer ? std::move(*layer) : nullptr;
  }
  static std::vector<std::string> ids(const Pool& pool) {
    std::vector<std::string> names;
    for (const PoolEntry& entry : pool.list().value_or(std::vector<PoolEntry>())) names.push_back(entry.id);
    return names;
  }

  static constexpr uint64_t kRoom = 16 * kMiB;
  std::string state_;
};

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
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, kRoom);
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
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, kRoom);
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
  layer->remove();
  ASSERT_OK(pool->remove("b"));
  EXPECT_THAT(ids(*pool), IsEmpty());
}

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

TEST_F(Pools, GrantLastingLayersTheirLimitInSteps) {
  constexpr uint64_t kLimit = 1100 * kMiB;
  std::shared_ptr<Pool> pool = open();
  ASSERT_TRUE(pool);
  std::unique_ptr<Layer> layer = create(*pool, "a", Lifetime::Long, kLimit);
  ASSERT_TRUE(layer);
  UniqueFd file = *sys::openat(layer->mount().mount, "file", O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::fallocate(file.get(), 0, 0, 600 * kMiB), 0);
  off_t beyond_first_grant = static_cast<off_t>(kGrantStep + kLayerSlack);
  EXPECT_NE(::fallocate(file.get(), 0, 0, beyond_first_grant), 0);
  EXPECT_EQ(errno, EDQUOT);
  ASSERT_OK(pool->tend());
  EXPECT_EQ(::fallocate(file.get(), 0, 0, beyond_first_grant), 0);
  EXPECT_NE(::fallocate(file.get(), 0, 0, static_cast<off_t>(kLimit + 2 * kLayerSlack)), 0);
  EXPECT_EQ(errno, EDQUOT);
  file.reset();
  ASSERT_OK(layer->remove());
}

TEST_F(Pools, OnAFullHostDiskStopGrowingAndStayWritable) {
  // A small disk of its own, that nobody else sees.
  ASSERT_OK(sys::unshare(CLONE_NEWNS));
  ASSERT_OK(sys::make_mounts_private());
  std::string disk = state_ + "/disk";
  ASSERT_OK(sys::mkdir(disk, 0700));
  {
    Result<UniqueFd> small = sys::make_mount("tmpfs", {{"size", "1100m"}, {"mode", "0700"}}, 0);
    ASSERT_TRUE(small) << small.error().message();
    ASSERT_OK(sys::attach_mount(small->get(), AT_FDCWD, disk));
  }
  Result<std::shared_ptr<Pool>> pool = Pool::open(disk, 64 * kMiB);
  ASSERT_TRUE(pool) << pool.error().message();
  std::unique_ptr<Layer> layer = create(**pool, "a", Lifetime::OneRun, 64 * kMiB);
  ASSERT_TRUE(layer);
  {
    UniqueFd host = *sys::open(disk, O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(fill(host.get(), "filler", 2 * kGiB).errnum, ENOSPC);
  }
  Result<std::unique_ptr<Layer>> another = (*pool)->create("b", Lifetime::OneRun, 500 * kMiB);
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().code(), Code::Exhausted);
  EXPECT_THAT(another.error().message(), HasSubstr("stay free"));
  Written written = fill(layer->mount().mount, "file", kGiB);
  EXPECT_EQ(written.errnum, EDQUOT);
  EXPECT_GE(written.bytes, 64 * kMiB);
  ASSERT_EQ(::unlinkat(layer->mount().mount, "file", 0), 0);
  EXPECT_EQ(fill(layer->mount().mount, "again", 32 * kMiB).errnum, 0);
  layer.reset();
  pool->reset();
  EXPECT_EQ(::syscall(SYS_umount2, disk.c_str(), 2 /* MNT_DETACH */), 0);
}

TEST_F(Pools, AStateFolderThatOthersCanWriteToIsRefused) {
  ASSERT_EQ(::chmod(state_.c_str(), 0775), 0);
  Result<std::shared_ptr<Pool>> pool = Pool::open(state_, kRoom);
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().code(), Code::Denied);
}

}  // namespace
}  // namespace cove
