#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "image/image_progress.h"
#include "image/manifest.h"
#include "image/registry.h"

namespace cove {

// Image blobs on disk, by digest. Small ones (manifests and configs) are kept; archives of layers, complete or partial,
// only until they are unpacked.
//
//   blobs/DIGITS     complete and verified
//   partial/DIGITS   being fetched
//   work/…           files of one request; unused after a crash
class BlobFolder {
 public:
  // Creates missing folders, and removes files that are not in use.
  static Result<BlobFolder> open(const std::string& folder);

  // Stores a blob atomically and durably. Invalid if the text does not match the digest.
  Result<void> keep(const std::string& digest, std::string_view text) const;
  // Reads and verifies a blob. NotFound.
  Result<std::string> read(const std::string& digest) const;
  void forget(const std::string& digest) const;
  Result<std::vector<std::string>> kept() const;  // digests

  // The archive of a layer, verified while it is fetched; resumes an earlier attempt.
  Result<UniqueFd> fetch(Registry& registry, const Descriptor& descriptor, ImageProgress& progress, size_t index) const;
  void drop(const std::string& digest) const;
  // Removes all partial blobs except these.
  void drop_all_but(const std::vector<std::string>& digests) const;

  // A file without a name.
  Result<UniqueFd> scratch_file() const;

 private:
  explicit BlobFolder(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

// "sha256:" and the digits for a whole file; sets `size` to its length.
Result<std::string> digest_file(int file, uint64_t& size);

}  // namespace cove
