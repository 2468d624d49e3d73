#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/manifest.h"

// Which images there are: one file, docs/formats/images.md describes it. The server writes it; a run without a server
// reads it, too.
namespace cove {

struct StoredLayer {
  std::string digest;   // of the archive, as it came
  std::string key;      // the name of its unpacked form: 64 hexadecimal digits
  std::string diff_id;  // of the archive, unpacked
  uint64_t size = 0;    // as it came
  uint64_t unpacked_size = 0;
  uint64_t entries = 0;
};

struct StoredImage {
  std::string digest;  // of its manifest
  std::string config_digest;
  ImageConfig config;
  std::vector<StoredLayer> layers;  // the lowest first
  std::vector<std::string> notes;   // what could not be unpacked as it was
  int64_t stored_ms = 0;

  uint64_t size() const;
  uint64_t unpacked_size() const;
};

struct Catalogue {
  std::map<std::string, StoredImage> images;  // by digest
  std::map<std::string, std::string> names;   // "REPOSITORY:TAG" → digest

  std::vector<std::string> names_of(const std::string& digest) const;
};

// What a user's word stands for: a name, with the usual registry where it names none, or a digest, or the first six or
// more digits of one. NotFound says what to do.
struct NamedImage {
  std::string name;  // as the catalogue has it; empty where a digest was given
  const StoredImage* image = nullptr;

  // How a sandbox keeps it: NAME@DIGEST.
  std::string pinned() const;
};
// What it is looked for: only where a sandbox is to run it does it help to fetch it.
enum class ImageUse { Run, Manage };
Result<NamedImage> find_image(const Catalogue& catalogue, const std::string& word, const std::string& usual_registry,
                              ImageUse use = ImageUse::Run);

// The digest of "NAME@sha256:…"; empty where there is none.
std::string pinned_digest(const std::string& reference);

// Names that mean this machine's own userland.
bool is_host_image(const std::string& reference);

// Whom an image's programs run as: root, where it does not say. A group's name is left out: the user's own counts.
std::string user_of_image(const ImageConfig& config);

// A folder without a catalogue has no images.
Result<Catalogue> read_catalogue(const std::string& folder);
// The same of a folder that somebody else can write to, at a path below `top`.
Result<Catalogue> read_catalogue(int top, const std::string& path);
// In one step, and so that it survives a power cut.
Result<void> write_catalogue(const std::string& folder, const Catalogue& catalogue);

// Where the server keeps its part of the images, in its own folder; and, below the state folder, where what is unpacked
// lies.
inline constexpr const char* kServerImages = "images";

}  // namespace cove
