#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/manifest.h"

// The list of images, in one file that docs/formats/images.md describes. The server writes it; a run without a server
// reads it, too.
namespace cove {

struct StoredLayer {
  std::string digest;   // of the archive, as fetched
  std::string key;      // the name of its unpacked form: 64 hexadecimal digits
  std::string diff_id;  // of the uncompressed archive
  uint64_t size = 0;    // as fetched
  uint64_t unpacked_size = 0;
  uint64_t entries = 0;
};

struct StoredImage {
  std::string digest;  // of its manifest
  std::string config_digest;
  ImageConfig config;
  std::vector<StoredLayer> layers;  // the lowest first
  std::vector<std::string> notes;   // what could not be unpacked unchanged
  int64_t stored_ms = 0;

  uint64_t size() const;
  uint64_t unpacked_size() const;
};

struct Catalogue {
  std::map<std::string, StoredImage> images;  // by digest
  std::map<std::string, std::string> names;   // "REPOSITORY:TAG" → digest

  std::vector<std::string> names_of(const std::string& digest) const;
};

// Resolves a user's word: a name, with the default registry if it has none, or a digest, or at least six leading digits
// of one. NotFound has a hint.
struct NamedImage {
  std::string name;  // as in the catalogue; empty if a digest was given
  const StoredImage* image = nullptr;

  // The reference that a sandbox stores: NAME@DIGEST.
  std::string pinned() const;
};
// The purpose of the lookup: only for running a sandbox does the hint suggest a pull.
enum class ImageUse { Run, Manage };
Result<NamedImage> find_image(const Catalogue& catalogue, const std::string& word, const std::string& usual_registry,
                              ImageUse use = ImageUse::Run);

// The digest of "NAME@sha256:…"; empty if there is none.
std::string pinned_digest(const std::string& reference);

// Names that mean this machine's own userland.
bool is_host_image(const std::string& reference);

// The user that an image's programs run as; root by default. A group name is dropped: the user's own group applies.
std::string user_of_image(const ImageConfig& config);

// A folder without a catalogue has no images.
Result<Catalogue> read_catalogue(const std::string& folder);
// The same for a folder that another user can write to, at a path below `top`.
Result<Catalogue> read_catalogue(int top, const std::string& path);
// Written atomically and durably.
Result<void> write_catalogue(const std::string& folder, const Catalogue& catalogue);

// The server's folder for images, in its own folder; and the folder of unpacked layers, below the state folder.
inline constexpr const char* kServerImages = "images";

}  // namespace cove
