#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cove {

// The name of an image: [REGISTRY/]REPOSITORY[:TAG][@DIGEST].
//
// The part before the first slash is a registry if it contains a dot or a colon, or is "localhost"; so "alpine" and
// "tools/alpine" name none.
struct ImageReference {
  std::string registry;  // "registry.example.org:5000"; empty: none was named
  std::string repository;
  std::string tag;     // "latest" if neither a tag nor a digest was given
  std::string digest;  // "sha256:…", or empty

  bool operator==(const ImageReference&) const = default;
};

// Invalid, with the reason.
Result<ImageReference> parse_reference(std::string_view text);
std::string to_text(const ImageReference& reference);

inline constexpr std::string_view kDockerHub = "docker.io";

// Adds the default registry to a name without one. `usual` is HOST[:PORT], or HOST[:PORT]/FOLDER with a folder for
// names of a single word. Such names at Docker Hub are in `library`. Invalid, with a hint, if the name has no registry
// and `usual` is empty.
Result<ImageReference> complete_reference(ImageReference reference, const std::string& usual);

// The registry to fetch such an image from: the address of Docker Hub differs from its name, and it may have a mirror
// (HOST[:PORT]; empty: none).
ImageReference source_of(ImageReference reference, const std::string& docker_hub_mirror);

// "sha256:" and 64 hexadecimal digits.
bool is_digest(std::string_view text);
// Its digits, which are used as file names.
std::string digest_hex(std::string_view digest);
bool is_hex_key(std::string_view text);  // 64 hexadecimal digits

// Whether the registry is on this machine: such registries are accessed over plain HTTP.
bool is_loopback(std::string_view registry);

}  // namespace cove
