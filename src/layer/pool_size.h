#pragma once

#include <algorithm>
#include <cstdint>

#include "model/limits.h"

// How large the pool is, in pure numbers.
//
// The kernel turns btrfs read-only when a write to its device fails. So every byte of the image that btrfs knows of is
// allocated on the host's disk beforehand, and a full host disk can only keep the pool from growing. And btrfs itself
// behaves badly when it runs out of room, so the sum of what all layers may fill (their grants) never exceeds what is
// there: writers meet their quota (EDQUOT) first.
namespace cove {

// Beyond a layer's limit, for what overlay itself writes into its work folder.
inline constexpr uint64_t kLayerSlack = 8 * kMiB;

// The image's size for a sum of grants: chunks of metadata and the kernel's own reserve come first, and what is
// accounted to no layer (checksums, the extent tree) grows with the rest.
inline uint64_t image_size(uint64_t granted) {
  constexpr uint64_t kBase = 640 * kMiB;
  constexpr uint64_t kStep = 256 * kMiB;
  return (kBase + granted + granted / 8 + kStep - 1) / kStep * kStep;
}

// What growing leaves free on the host's disk.
inline uint64_t host_reserve(uint64_t disk_bytes) { return std::clamp(disk_bytes / 20, 256 * kMiB, 4 * kGiB); }

// A layer of one run is granted its whole limit at once. A long-lived one gets it in steps, each before it is needed,
// so that idle sandboxes do not hold the host's disk.
inline constexpr uint64_t kGrantStep = 1 * kGiB;
inline uint64_t next_grant(uint64_t used, uint64_t granted, uint64_t limit) {
  if (granted >= limit || used + kGrantStep / 2 <= granted) return granted;
  return std::min(limit, granted + kGrantStep);
}

}  // namespace cove
