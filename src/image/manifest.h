#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

// The documents of an image, as in the OCI image specification and Docker's schema 2. The input is untrusted: limited
// in size, depth and number, and validated.
namespace cove {

inline constexpr size_t kLargestManifest = 4 << 20;  // also of an index and of a config
inline constexpr size_t kMostLayers = 127;

struct Platform {
  std::string os;
  std::string architecture;
  std::string variant;

  bool operator==(const Platform&) const = default;
};
// "linux/arm64", "linux/arm/v7"; Invalid.
Result<Platform> parse_platform(std::string_view text);
std::string to_text(const Platform& platform);
Platform own_platform();

struct Descriptor {
  std::string media_type;
  std::string digest;
  uint64_t size = 0;
  std::optional<Platform> platform;
};

struct Manifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // the lowest first
};
struct ManifestIndex {
  std::vector<Descriptor> manifests;
};
using ManifestDocument = std::variant<Manifest, ManifestIndex>;

Result<ManifestDocument> parse_manifest(std::string_view text);

// The manifest for this platform. NotFound names the available platforms.
Result<Descriptor> choose_manifest(const ManifestIndex& index, const Platform& wanted);

// How an image is run, from its config.
struct ImageConfig {
  Platform platform;
  std::string created;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string cwd;
  std::string user;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::string> diff_ids;  // of the layers, unpacked; the lowest first
};
Result<ImageConfig> parse_image_config(std::string_view text);

}  // namespace cove
