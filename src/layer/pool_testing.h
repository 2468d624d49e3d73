#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "layer/make.h"
#include "layer/pool.h"
#include "sys/file.h"
#include "sys/testing.h"

// What the tests of the pool share: they make real ones, in folders of their own.
namespace cove {

#define SKIP_WITHOUT_POOL()                                  \
  do {                                                       \
    std::string reason = find_layer_facts("/tmp").no_pool;   \
    if (!reason.empty()) SKIP_OR_FAIL("no pool: " + reason); \
  } while (false)

inline bool any_loop_on(const std::string& folder) {
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
inline Written fill(int folder, const char* name, uint64_t most) {
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
    Result<std::shared_ptr<Pool>> pool = Pool::open(state_, {Lifetime::OneRun, kRoom});
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

}  // namespace cove
