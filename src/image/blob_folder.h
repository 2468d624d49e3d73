#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "image/image_progress.h"
#include "image/manifest.h"
#include "image/registry.h"

namespace cove {

// Blobs of images on disk, by their digests. Small ones (manifests and configs) are kept; archives of layers only until
// they are unpacked, and what was fetched of them so far.
//
//   blobs/DIGITS     whole and checked
//   partial/DIGITS   being fetched
//   work/…           of one request; nobody's after a crash
class BlobFolder {
 public:
  // Makes what is missing, and removes what nobody is at work on.
  static Result<BlobFolder> open(const std::string& folder);

  // In one step, and so that it survives a power cut. Invalid where the text has another digest.
  Result<void> keep(const std::string& digest, std::string_view text) const;
  // Checked. NotFound.
  Result<std::string> read(const std::string& digest) const;
  void forget(const std::string& digest) const;
  Result<std::vector<std::string>> kept() const;  // digests

  // The archive of a layer, fetched and checked while it comes; goes on where an earlier attempt ended.
  Result<UniqueFd> fetch(Registry& registry, const Descriptor& descriptor, ImageProgress& progress, size_t index) const;
  void drop(const std::string& digest) const;
  // Partial ones but those.
  void drop_all_but(const std::vector<std::string>& digests) const;

  // A file without a name.
  Result<UniqueFd> scratch_file() const;

 private:
  explicit BlobFolder(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
};

// "sha256:" and the digits of all of a file, from its beginning; `size` becomes its length.
Result<std::string> digest_file(int file, uint64_t& size);

}  // namespace cove
