#pragma once

#include <algorithm>
#include <cstdint>

#include "model/limits.h"

// Computes the size of the pool, without side effects.
//
// The kernel makes btrfs read-only when a write to its device fails. So every byte of the image that btrfs uses is
// allocated on the host's disk in advance, and a full host disk only prevents the pool from growing.
//
// A layer of one run has room for its whole limit from the start: it gets EDQUOT, never ENOSPC. Long-lived layers share
// a reserve, which is refilled as they use it, so that idle layers do not occupy the host's disk.
namespace cove {

// Added to a layer's limit for what overlayfs itself writes into its work folder.
inline constexpr uint64_t kLayerSlack = 8 * kMiB;

// What all long-lived layers can write between two calls of Pool::maintain; less on a small disk.
inline constexpr uint64_t kPoolReserve = 4 * kGiB;
inline uint64_t pool_reserve(uint64_t disk_bytes, uint64_t most) {
  return std::min(most, std::max(256 * kMiB, disk_bytes / 20));
}

// The pool grows in steps of the first size, or of the second if the host's disk has no room for that.
inline constexpr uint64_t kGrowStep = 1 * kGiB;
inline constexpr uint64_t kLeastStep = 256 * kMiB;

inline uint64_t round_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

// The size of a new image for `room` bytes of data: it includes metadata and the kernel's own reserve, and data that is
// not charged to a layer (checksums, the extent tree) in proportion.
inline uint64_t image_size(uint64_t room) { return round_up(640 * kMiB + room + room / 8, kLeastStep); }

// The room in a btrfs, which allocates space in chunks, each only for data or only for metadata.
struct PoolSpace {
  uint64_t size = 0;
  uint64_t unallocated = 0;  // in no chunk yet
  uint64_t data_free = 0;
  uint64_t metadata_free = 0;
  uint64_t chunks_end = 0;  // where the last chunk ends
};

// The unallocated space needed to write `room` bytes. The next data chunk may be larger than necessary and must leave
// enough for metadata: without room for metadata, btrfs cannot use its room for data either.
inline uint64_t beyond(uint64_t wanted, uint64_t there) { return wanted > there ? wanted - there : 0; }
inline uint64_t needed_bytes(const PoolSpace& space, uint64_t room) {
  uint64_t chunk = std::min(space.size / 10, kGiB);
  uint64_t metadata = 512 * kMiB + std::max(room / 8, chunk);
  return beyond(room, space.data_free) + beyond(metadata, space.metadata_free);
}
// How much the pool must grow for that.
inline uint64_t missing_bytes(const PoolSpace& space, uint64_t room) {
  return beyond(needed_bytes(space, room), space.unallocated);
}

// The size to which a pool with surplus room shrinks: not below the end of its last chunk, so that nothing is moved,
// and only by at least two steps, so that it does not grow again immediately.
inline uint64_t shrunk_size(const PoolSpace& space, uint64_t room) {
  const uint64_t spare = beyond(space.unallocated, needed_bytes(space, room) + kGrowStep);
  const uint64_t wanted = std::max(round_up(space.chunks_end, kLeastStep), round_up(space.size - spare, kLeastStep));
  return wanted + 2 * kGrowStep <= space.size ? wanted : space.size;
}

// What growing leaves free on the host's disk.
inline uint64_t host_reserve(uint64_t disk_bytes) { return std::clamp(disk_bytes / 20, 256 * kMiB, 4 * kGiB); }

}  // namespace cove
