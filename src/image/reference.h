#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cove {

// The name of an image: [REGISTRY/]REPOSITORY[:TAG][@DIGEST].
//
// What stands before the first slash is a registry where it has a dot or a colon in it, or is "localhost"; so "alpine"
// and "tools/alpine" name none.
struct ImageReference {
  std::string registry;  // "registry.example.org:5000"; empty: none was named
  std::string repository;
  std::string tag;     // "latest" where neither a tag nor a digest was named
  std::string digest;  // "sha256:…", or empty

  bool operator==(const ImageReference&) const = default;
};

// Invalid, with what is wrong about it.
Result<ImageReference> parse_reference(std::string_view text);
std::string to_text(const ImageReference& reference);

inline constexpr std::string_view kDockerHub = "docker.io";

// With the registry that names without one are looked for in. `usual` is HOST[:PORT], or HOST[:PORT]/FOLDER where names
// of one word lie in a folder. Names of one word at Docker Hub are in `library`. Invalid, with what to do, where none
// is named and `usual` is empty.
Result<ImageReference> complete_reference(ImageReference reference, const std::string& usual);

// Where an image of that name is fetched from: Docker Hub has another address than name, and may have a mirror
// (HOST[:PORT]; empty: none).
ImageReference source_of(ImageReference reference, const std::string& docker_hub_mirror);

// "sha256:" and 64 hexadecimal digits.
bool is_digest(std::string_view text);
// Its digits: they become names of files.
std::string digest_hex(std::string_view digest);
bool is_hex_key(std::string_view text);  // 64 hexadecimal digits

// A registry that lies on this machine: to those plain HTTP is spoken.
bool is_loopback(std::string_view registry);

}  // namespace cove
