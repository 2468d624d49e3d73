#pragma once

#include <algorithm>
#include <cstdint>

#include "model/limits.h"

// How large the pool is, in pure numbers.
//
// The kernel turns btrfs read-only when a write to its device fails. So every byte of the image that btrfs knows of is
// allocated on the host's disk beforehand, and a full host disk can only keep the pool from growing.
//
// A layer of one run has room for all of its limit from the start: it meets its quota (EDQUOT), never the pool's end.
// Long-lived layers share a reserve, which is filled up again as they use it: however many are idle, they do not hold
// the host's disk.
namespace cove {

// Beyond a layer's limit, for what overlay itself writes into its work folder.
inline constexpr uint64_t kLayerSlack = 8 * kMiB;

// What long-lived layers together can write between two calls of Pool::tend; less on a small disk.
inline constexpr uint64_t kPoolReserve = 4 * kGiB;
inline uint64_t pool_reserve(uint64_t disk_bytes, uint64_t most) {
  return std::min(most, std::max(256 * kMiB, disk_bytes / 20));
}

// The pool grows in steps of the first size, or of the second where the host's disk has no room for that.
inline constexpr uint64_t kGrowStep = 1 * kGiB;
inline constexpr uint64_t kLeastStep = 256 * kMiB;

inline uint64_t round_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

// A new image's size, if `room` bytes are to be written: metadata and the kernel's own reserve come first, and what is
// accounted to no layer (checksums, the extent tree) grows with the rest.
inline uint64_t image_size(uint64_t room) { return round_up(640 * kMiB + room + room / 8, kLeastStep); }

// The room in a btrfs. It gives itself out in chunks, each for data or for metadata only.
struct PoolSpace {
  uint64_t size = 0;
  uint64_t unallocated = 0;  // in no chunk yet
  uint64_t data_free = 0;
  uint64_t metadata_free = 0;
  uint64_t chunks_end = 0;  // where the last chunk ends
};

// What must be in no chunk for `room` bytes to be written. The next chunk of data can take more than is needed for
// data, and must leave enough for metadata: btrfs without room for metadata cannot even use the room that it has for
// data.
inline uint64_t beyond(uint64_t wanted, uint64_t there) { return wanted > there ? wanted - there : 0; }
inline uint64_t needed_bytes(const PoolSpace& space, uint64_t room) {
  uint64_t chunk = std::min(space.size / 10, kGiB);
  uint64_t metadata = 512 * kMiB + std::max(room / 8, chunk);
  return beyond(room, space.data_free) + beyond(metadata, space.metadata_free);
}
// What the pool lacks for that.
inline uint64_t missing_bytes(const PoolSpace& space, uint64_t room) {
  return beyond(needed_bytes(space, room), space.unallocated);
}

// The size that a pool shrinks to which has more than it needs: no smaller than its last chunk ends, so that nothing is
// moved, and not for less than two steps, so that it does not grow again at once.
inline uint64_t shrunk_size(const PoolSpace& space, uint64_t room) {
  const uint64_t spare = beyond(space.unallocated, needed_bytes(space, room) + kGrowStep);
  const uint64_t wanted = std::max(round_up(space.chunks_end, kLeastStep), round_up(space.size - spare, kLeastStep));
  return wanted + 2 * kGrowStep <= space.size ? wanted : space.size;
}

// What growing leaves free on the host's disk.
inline uint64_t host_reserve(uint64_t disk_bytes) { return std::clamp(disk_bytes / 20, 256 * kMiB, 4 * kGiB); }

}  // namespace cove
