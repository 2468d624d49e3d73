#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// The ioctls of btrfs. `file_system` is any descriptor on it; needs root.
namespace cove::sys::btrfs {

enum class Writes { Allowed, Refused };

Result<void> create_subvolume(int parent, const std::string& name);
// An instant copy of the subvolume `source`, after its dirty pages have been written.
Result<void> create_snapshot(int source, int parent, const std::string& name, Writes writes);
Result<void> set_writes(int subvolume, Writes writes);
// Its space is freed in the background.
Result<void> destroy_subvolume(int parent, const std::string& name);
// The id of the subvolume that holds this file or folder.
Result<uint64_t> subvolume_id(int file);

// Resizes the file system's only device.
Result<void> resize(int file_system, uint64_t bytes);
// The end of the last used part of the device.
Result<uint64_t> end_of_chunks(int file_system);
Result<uint64_t> size(int file_system);
Result<std::string> uuid(int file_system);

// Quota groups: each subvolume has one, with its id.
struct QuotaGroup {
  uint64_t used = 0;   // written or reserved, data and metadata
  uint64_t limit = 0;  // 0: none
};
Result<void> enable_quota(int file_system);
Result<void> limit_quota(int file_system, uint64_t subvolume, uint64_t bytes);
Result<QuotaGroup> quota_group(const std::string& uuid, uint64_t subvolume);
// The folder in which every user can read the usage of a quota group, and the usage.
std::string quota_folder(const std::string& uuid, uint64_t subvolume);
Result<uint64_t> quota_used(const std::string& folder);

// The same for repeated reads.
class QuotaGauge {
 public:
  static Result<QuotaGauge> open(const std::string& folder);
  Result<uint64_t> read() const;

 private:
  UniqueFd referenced_;
  UniqueFd promised_;
};
// Kernels before 6.11 keep the groups of destroyed subvolumes: removes these.
void remove_stale_quota_groups(int file_system, const std::string& uuid);

}  // namespace cove::sys::btrfs
