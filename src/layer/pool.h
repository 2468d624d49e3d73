#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "layer/layer.h"
#include "layer/pool_size.h"
#include "model/sandbox.h"
#include "sys/btrfs.h"
#include "sys/loop_device.h"

namespace cove {

struct PoolEntry {
  std::string id;
  Lifetime lifetime = Lifetime::OneRun;
};

// The room that a layer may use.
struct LayerRoom {
  Lifetime lifetime = Lifetime::OneRun;
  uint64_t bytes = 0;
};

// A btrfs file system in a file that Cove makes, with a subvolume per layer. Needs root, btrfs and mkfs.btrfs.
//
//   std::shared_ptr<Pool> pool = COVE_TRY(Pool::open("/var/lib/cove", {Lifetime::OneRun, 5 * kGiB}));
//   std::unique_ptr<Layer> layer = COVE_TRY(pool->create(id, Lifetime::OneRun, 5 * kGiB));
//
// In the state folder: `pool.img`, the file system, all of it allocated (see pool_size.h), and `pool.lock`. In the file
// system: `run/ID`, layers of one run, whose owners hold a flock(2) on them (one without a lock is removed by the
// next process that opens the pool), and `long/ID`, layers that are kept until they are removed.
//
// No mount is visible to other processes: each process that uses the pool has its own detached mount of the file
// system. The kernel removes these mounts and the loop device when their last holder ends, in any way. Several
// processes may use a pool at the same time. The last one to close an empty pool removes the image. Not thread-safe.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  // Unneeded room is released after this time.
  static constexpr std::chrono::seconds kSpareHolds{10};

  // A new image gets room for the first layer immediately. `most_reserve`: see pool_size.h.
  static Result<std::shared_ptr<Pool>> open(const std::string& state, LayerRoom first,
                                            uint64_t most_reserve = kPoolReserve);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Creates a layer with a limit of `bytes`; Exhausted if the host's disk has no room for it or, for a long-lived
  // layer, for the reserve.
  Result<std::unique_ptr<Layer>> create(const std::string& id, Lifetime lifetime, uint64_t bytes);
  // Opens a kept layer.
  Result<std::unique_ptr<Layer>> find(const std::string& id);
  // Creates a kept copy of the current state of a kept layer, with the same limit. Exhausted like `create`.
  Result<void> fork(const std::string& from, const std::string& id, sys::btrfs::Writes writes);
  // Sets the limit of a kept layer. Conflict if it contains more already, because it could not be mounted.
  Result<void> change_limit(const std::string& id, uint64_t bytes);
  // Makes a kept layer read-only.
  Result<void> freeze(const std::string& id);
  // Removes a kept layer; NotFound if it does not exist.
  Result<void> remove(const std::string& id);
  Result<std::vector<PoolEntry>> list() const;

  // Grows the pool to restore the reserve, or releases surplus room. Must be called a few times per second while
  // long-lived layers are written to. Exhausted if the host's disk has no room; layers may then get ENOSPC.
  Result<void> maintain(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  class Lock;
  friend class PoolLayer;

  Pool() = default;
  Result<void> attach();
  void sweep();
  Result<UniqueFd> mount(const std::string& subvolume) const;
  int folder_of(Lifetime lifetime) const { return lifetime == Lifetime::OneRun ? run_.get() : long_.get(); }
  Result<std::unique_ptr<Layer>> open_layer(const std::string& id, Lifetime lifetime);
  Result<void> limit(Lifetime lifetime, const std::string& id, uint64_t bytes);
  Result<uint64_t> unused(Lifetime lifetime, const std::string& id) const;
  Result<uint64_t> unused_by_runs() const;
  Result<uint64_t> unused_by_long() const;
  Result<void> make_room(LayerRoom more);
  bool has_room_for(LayerRoom more) const;
  Result<void> grow(uint64_t size, uint64_t more);
  // Whether the end of the pool has surplus room to release.
  enum class Spare { Kept, GivenBack };
  Result<bool> shrink(Spare spare);
  void close();
  bool is_forked() const { return ::getpid() != opener_; }

  UniqueFd state_;
  UniqueFd lock_;
  UniqueFd image_;
  sys::LoopDevice device_;
  UniqueFd root_;
  std::string uuid_;
  UniqueFd run_;
  UniqueFd long_;
  uint64_t reserve_ = 0;
  // Until then the pool has room for the full reserve, and another long-lived layer needs no more.
  std::chrono::steady_clock::time_point roomy_until_;
  std::chrono::steady_clock::time_point next_look_;
  bool had_spare_ = false;
  uint64_t created_ = 0;
  pid_t opener_ = ::getpid();
};

}  // namespace cove
