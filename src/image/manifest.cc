#include "image/manifest.h"

#include <sys/utsname.h>

#include <algorithm>
#include <span>

#include "base/json.h"
#include "base/text.h"
#include "image/reference.h"

namespace cove {
namespace {

constexpr int kDeepest = 32;
constexpr size_t kMostManifests = 1000;
constexpr size_t kMostWords = 4096;
constexpr uint64_t kLargestBlob = uint64_t{1} << 40;

constexpr std::string_view kIndexTypes[] = {"application/vnd.oci.image.index.v1+json",
                                            "application/vnd.docker.distribution.manifest.list.v2+json"};
constexpr std::string_view kManifestTypes[] = {"application/vnd.oci.image.manifest.v1+json",
                                               "application/vnd.docker.distribution.manifest.v2+json"};
constexpr std::string_view kConfigTypes[] = {"application/vnd.oci.image.config.v1+json",
                                             "application/vnd.docker.container.image.v1+json"};
constexpr std::string_view kLayerTypes[] = {
    "application/vnd.oci.image.layer.v1.tar",
    "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
    "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
    "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
};

bool is_among(std::string_view text, std::span<const std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

std::unexpected<Error> wrong(std::string_view what, std::string_view why) {
  return fail(Code::Invalid, concat("invalid ", what, ": ", why));
}

Result<Json> parse_bounded(std::string_view what, std::string_view text) {
  if (text.size() > kLargestManifest) return wrong(what, concat("it is longer than ", format_bytes(kLargestManifest)));
  Result<Json> json = Json::parse(text, kDeepest);
  if (!json) return wrong(what, json.error().message());
  if (!json->is_object()) return wrong(what, "it is not a JSON object");
  return json;
}

// Empty if it is missing or not a string.
std::string text_of(const Json& object, const char* name) {
  auto found = object.find(name);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

bool has_nul(const std::string& text) { return text.find('\0') != text.npos; }

Result<std::vector<std::string>> words_of(const Json& object, const char* name) {
  std::vector<std::string> words;
  auto found = object.find(name);
  if (!found || found->is_null()) return words;
  if (!found->is_array() || found->size() > kMostWords)
    return wrong("the image's config", concat(std::string_view(name), " is not a list"));
  for (const Json& word : *found) {
    if (!word.is_string() || has_nul(word.as_string()))
      return wrong("the image's config", concat(std::string_view(name), " is not a list of strings"));
    words.push_back(word.get<std::string>());
  }
  return words;
}

Result<Descriptor> parse_descriptor(const Json& json) {
  if (!json.is_object()) return wrong("the manifest", "a descriptor is missing");
  Descriptor descriptor;
  descriptor.media_type = text_of(json, "mediaType");
  descriptor.digest = text_of(json, "digest");
  if (!is_digest(descriptor.digest))
    return wrong("the manifest", concat("'", descriptor.digest.substr(0, 80), "' is not a sha256 digest"));
  auto size = json.find("size");
  if (!size || !size->is_number_unsigned() || size->get<uint64_t>() > kLargestBlob)
    return wrong("the manifest", concat("the size of ", descriptor.digest, " is invalid"));
  descriptor.size = size->get<uint64_t>();
  auto platform = json.find("platform");
  if (platform && platform->is_object())
    descriptor.platform =
        Platform{text_of(*platform, "os"), text_of(*platform, "architecture"), text_of(*platform, "variant")};
  return descriptor;
}

Result<ManifestIndex> parse_index(const Json& json) {
  ManifestIndex index;
  const Json& list = json["manifests"];
  if (!list.is_array() || list.size() > kMostManifests)
    return wrong("the index", "its manifests are not a list, or too many");
  for (const Json& each : list) index.manifests.push_back(COVE_TRY(parse_descriptor(each)));
  return index;
}

Result<Manifest> parse_image_manifest(const Json& json) {
  Manifest manifest;
  manifest.config = COVE_TRY(parse_descriptor(json.contains("config") ? json["config"] : Json()));
  if (!is_among(manifest.config.media_type, kConfigTypes))
    return fail(Code::Unsupported,
                concat("it is not an image that can be run, but '", manifest.config.media_type.substr(0, 100), "'"));
  if (manifest.config.size > kLargestManifest) return wrong("the manifest", "the config is too large");
  const Json& list = json["layers"];
  if (!list.is_array()) return wrong("the manifest", "its layers are not a list");
  if (list.size() > kMostLayers) return wrong("the manifest", concat("it has more than ", kMostLayers, " layers"));
  for (const Json& each : list) {
    manifest.layers.push_back(COVE_TRY(parse_descriptor(each)));
    if (!is_among(manifest.layers.back().media_type, kLayerTypes))
      return fail(Code::Unsupported,
                  concat("unsupported layer type '", manifest.layers.back().media_type.substr(0, 100), "'"));
  }
  return manifest;
}

std::string own_architecture() {
  struct utsname names;
  std::string machine = ::uname(&names) == 0 ? names.machine : "";
  return machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine;
}

bool fits(const Platform& offered, const Platform& wanted) {
  if (offered.os != wanted.os || offered.architecture != wanted.architecture) return false;
  return wanted.variant.empty() || offered.variant.empty() || offered.variant == wanted.variant;
}

}  // namespace

Result<Platform> parse_platform(std::string_view text) {
  std::vector<std::string> words = split(text, '/');
  bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '.' || c == '-';
  });
  if (plain && words.size() >= 2 && words.size() <= 3 && !words[0].empty() && !words[1].empty())
    return Platform{words[0], words[1], words.size() == 3 ? words[2] : ""};
  return fail(
      Error(Code::Invalid, concat("'", text.substr(0, 80), "' is not a platform")).hint("write it like linux/amd64"));
}

std::string to_text(const Platform& platform) {
  std::string text = concat(platform.os, "/", platform.architecture);
  return platform.variant.empty() ? text : concat(text, "/", platform.variant);
}

Platform own_platform() { return {"linux", own_architecture(), ""}; }

Result<ManifestDocument> parse_manifest(std::string_view text) {
  Json json = COVE_TRY(parse_bounded("the manifest", text));
  auto version = json.find("schemaVersion");
  if (!version || !version->is_number_integer() || *version != 2)
    return fail(Error(Code::Unsupported, "the manifest is not of schema version 2")
                    .hint("push the image again with a newer tool"));
  std::string type = text_of(json, "mediaType");
  // Ambiguous documents are refused, because different readers could interpret them differently.
  if (json.contains("manifests") && (json.contains("layers") || json.contains("config")))
    return wrong("the manifest", "it is both an index and a manifest");
  if (json.contains("manifests")) {
    if (!type.empty() && !is_among(type, kIndexTypes)) return wrong("the index", "unexpected media type");
    return COVE_TRY(parse_index(json));
  }
  if (!type.empty() && !is_among(type, kManifestTypes)) return wrong("the manifest", "unexpected media type");
  if (!json.contains("layers")) return wrong("the manifest", "it has no layers");
  return COVE_TRY(parse_image_manifest(json));
}

Result<Descriptor> choose_manifest(const ManifestIndex& index, const Platform& wanted) {
  std::vector<std::string> offered;
  for (const Descriptor& each : index.manifests) {
    // Without a platform it matches all, as in a layout of one image.
    if (!each.platform || fits(*each.platform, wanted)) return each;
    offered.push_back(to_text(*each.platform));
  }
  std::ranges::sort(offered);
  offered.erase(std::unique(offered.begin(), offered.end()), offered.end());
  return fail(Error(Code::NotFound, concat("the image is not available for ", to_text(wanted)))
                  .hint(offered.empty() ? "its index is empty"
                                        : concat("available for: ", join(offered, ", ").substr(0, 500))));
}

Result<ImageConfig> parse_image_config(std::string_view text) {
  Json json = COVE_TRY(parse_bounded("the image's config", text));
  ImageConfig config;
  config.platform = {text_of(json, "os"), text_of(json, "architecture"), text_of(json, "variant")};
  config.created = text_of(json, "created");
  auto root = json.find("rootfs");
  if (!root || !root->is_object()) return wrong("the image's config", "it has no rootfs");
  config.diff_ids = COVE_TRY(words_of(*root, "diff_ids"));
  for (const std::string& id : config.diff_ids)
    if (!is_digest(id)) return wrong("the image's config", "a diff_id is not a sha256 digest");
  auto run = json.find("config");
  if (!run || !run->is_object()) return config;
  config.entrypoint = COVE_TRY(words_of(*run, "Entrypoint"));
  config.cmd = COVE_TRY(words_of(*run, "Cmd"));
  config.cwd = text_of(*run, "WorkingDir");
  config.user = text_of(*run, "User");
  if (has_nul(config.cwd) || has_nul(config.user)) return wrong("the image's config", "it contains a NUL byte");
  for (const std::string& variable : COVE_TRY(words_of(*run, "Env"))) {
    size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos)
      return wrong("the image's config", "a variable has no name or no value");
    config.env.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  auto labels = run->find("Labels");
  if (labels != run->end() && labels->is_object())
    for (const auto& [name, value] : labels->items())
      if (value.is_string()) config.labels.emplace_back(name, value.get<std::string>());
  return config;
}

}  // namespace cove
