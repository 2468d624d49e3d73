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
// A copy in no time of the subvolume behind `source`, after its dirty pages have been written.
Result<void> create_snapshot(int source, int parent, const std::string& name, Writes writes);
Result<void> set_writes(int subvolume, Writes writes);
// Its space is freed in the background.
Result<void> destroy_subvolume(int parent, const std::string& name);
// The id of the subvolume that holds this file or folder.
Result<uint64_t> subvolume_id(int file);

// Gives the file system's only device this size.
Result<void> resize(int file_system, uint64_t bytes);
// Where the last part of the device that is in use ends.
Result<uint64_t> end_of_chunks(int file_system);
Result<uint64_t> size(int file_system);
Result<std::string> uuid(int file_system);

// Quota groups: each subvolume has one, with its id.
struct QuotaGroup {
  uint64_t used = 0;   // written or promised, data and metadata
  uint64_t limit = 0;  // 0: none
};
Result<void> enable_quota(int file_system);
Result<void> limit_quota(int file_system, uint64_t subvolume, uint64_t bytes);
Result<QuotaGroup> quota_group(const std::string& uuid, uint64_t subvolume);
// Where anybody can read of a quota group what is used, and how much that is.
std::string quota_folder(const std::string& uuid, uint64_t subvolume);
Result<uint64_t> quota_used(const std::string& folder);

// The same for somebody who asks again and again.
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
