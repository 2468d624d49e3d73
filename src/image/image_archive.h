#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "image/blob_folder.h"

namespace cove {

// One image of an archive.
struct ArchivedImage {
  std::vector<std::string> names;  // as in the archive; may be empty
  std::string digest;              // of the manifest
  std::string manifest;
  std::string config;
  std::vector<std::string> layers;  // file names in the archive, the lowest first
};

// An image archive: an OCI layout, or the output of `docker save`. Its files are extracted to unnamed files: no name
// from the archive is used as a path.
class ImageArchive {
 public:
  // From a descriptor; at most `max_bytes` of it.
  static Result<ImageArchive> read(int archive, const BlobFolder& blobs, uint64_t max_bytes);

  // Verifies sizes and digests.
  Result<std::vector<ArchivedImage>> images(const Platform& platform);
  // The descriptor belongs to the archive.
  Result<int> open(const std::string& name);

 private:
  Result<std::string> text(const std::string& name);
  Result<std::string> blob_text(const Descriptor& descriptor);
  Result<std::vector<ArchivedImage>> layout_images(const Platform& platform);
  Result<std::vector<ArchivedImage>> docker_images();
  Result<ArchivedImage> layout_image(const Descriptor& descriptor, const Platform& platform, int depth);
  Result<std::string> resolve(std::string name) const;

  std::map<std::string, UniqueFd> files_;
  std::map<std::string, std::string> links_;
};

}  // namespace cove
