#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "layer/layer.h"
#include "model/sandbox.h"
#include "sys/btrfs.h"
#include "sys/loop_device.h"

namespace cove {

struct PoolEntry {
  std::string id;
  Lifetime lifetime = Lifetime::OneRun;
};

// A btrfs file system in a file that Cove makes, with a subvolume per layer. Needs root, btrfs and mkfs.btrfs.
//
//   std::shared_ptr<Pool> pool = COVE_TRY(Pool::open("/var/lib/cove", 5 * kGiB));
//   std::unique_ptr<Layer> layer = COVE_TRY(pool->create(id, Lifetime::OneRun, 5 * kGiB));
//
// In the state folder: `pool.img`, the file system, all of it allocated (see pool_size.h), and `pool.lock`. In the file
// system: `run/ID`, layers of one run, whose owners hold a flock(2) on them (one that nobody holds is removed by the
// next who opens the pool), and `long/ID`, layers that stay until they are removed.
//
// Nothing is mounted anywhere that others can see: each user of the pool has a detached mount of his own of the one
// file system, and the kernel takes these down, and lets go of the loop device, with their last holder, however that
// ends. Processes may use a pool at once. The last one to close an empty pool removes the image. Not thread-safe.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  // An image that has to be made is given room for layers of `room` bytes at once.
  static Result<std::shared_ptr<Pool>> open(const std::string& state, uint64_t room);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A new layer that can be filled up to `bytes`; Exhausted where the host's disk has no room for it.
  Result<std::unique_ptr<Layer>> create(const std::string& id, Lifetime lifetime, uint64_t bytes);
  // A layer that was kept.
  Result<std::unique_ptr<Layer>> find(const std::string& id);
  // A copy of a kept layer, as it is now, with the same limit; kept itself.
  Result<void> fork(const std::string& from, const std::string& id, sys::btrfs::Writes writes);
  // Makes a kept layer read-only and gives back what it was granted and does not use.
  Result<void> freeze(const std::string& id);
  Result<void> remove(const std::string& id);
  Result<std::vector<PoolEntry>> list() const;

  // Grants more to kept layers that come near what they were granted. To be called a few times a second while such
  // layers are written to. A layer that the host's disk has no room for meets its quota.
  Result<void> tend();

 private:
  class Lock;
  friend class PoolLayer;

  Pool() = default;
  Result<void> attach();
  void sweep();
  Result<UniqueFd> mount(const std::string& subvolume) const;
  int folder_of(Lifetime lifetime) const { return lifetime == Lifetime::OneRun ? run_.get() : long_.get(); }
  Result<std::unique_ptr<Layer>> open_layer(const std::string& id, Lifetime lifetime);
  Result<uint64_t> granted() const;
  Result<void> make_room(uint64_t granted);
  Result<void> tend_layer(const std::string& id);
  void close();

  UniqueFd state_;
  UniqueFd lock_;
  UniqueFd image_;
  sys::LoopDevice device_;
  UniqueFd root_;
  std::string uuid_;
  UniqueFd run_;
  UniqueFd long_;
};

}  // namespace cove
