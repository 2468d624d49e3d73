#include "image/image_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <memory>

#include "base/json.h"
#include "base/text.h"
#include "sys/file.h"
#include "unpack/sha256.h"

namespace cove {
namespace {

constexpr size_t kMostFiles = 10'000;
constexpr int kDeepestIndex = 3;
constexpr size_t kMostImages = 100;
constexpr const char* kLayerType = "application/vnd.oci.image.layer.v1.tar";

struct Free {
  void operator()(struct archive* archive) const { ::archive_read_free(archive); }
};

Error broken(struct archive* archive) {
  const char* why = ::archive_error_string(archive);
  return Error(Code::Invalid, concat("the archive cannot be read: ", why ? std::string_view(why) : "it is malformed"))
      .hint("load the output of `docker save` or an OCI layout; use `cove image import` for a root file system");
}

// "./a//b" → "a/b"; ".." stops at the top. The result is a map key, not a path.
std::string plain_name(std::string_view name, std::string_view folder = "") {
  std::vector<std::string> parts;
  for (std::string_view each : {folder, name})
    for (const std::string& part : split(each, '/')) {
      if (part == ".." && !parts.empty()) parts.pop_back();
      if (!part.empty() && part != "." && part != "..") parts.push_back(part);
    }
  return join(parts, "/");
}

std::string folder_of(const std::string& name) {
  size_t slash = name.rfind('/');
  return slash == name.npos ? "" : name.substr(0, slash);
}

Result<void> copy_data(struct archive* archive, int file, uint64_t& room) {
  const void* data = nullptr;
  size_t size = 0;
  la_int64_t offset = 0;
  while (true) {
    int status = ::archive_read_data_block(archive, &data, &size, &offset);
    if (status == ARCHIVE_EOF) return {};
    if (status != ARCHIVE_OK) return fail(broken(archive));
    if (size > room)
      return fail(Error(Code::Exhausted, "the archive exceeds the size limit")
                      .hint("raise the server's setting images.max_size"));
    room -= size;
    if (::pwrite(file, data, size, offset) != static_cast<ssize_t>(size))
      return fail_errno("write a part of the archive");
  }
}

std::string blob_name(const std::string& digest) { return concat("blobs/sha256/", digest_hex(digest)); }

std::string digest_text(std::string_view text) {
  unpack::Sha256 digest;
  digest.update(text);
  return concat("sha256:", digest.hex());
}

}  // namespace

Result<ImageArchive> ImageArchive::read(int fd, const BlobFolder& blobs, uint64_t max_bytes) {
  ImageArchive out;
  std::unique_ptr<struct archive, Free> archive(::archive_read_new());
  ::archive_read_support_filter_gzip(archive.get());
  ::archive_read_support_filter_zstd(archive.get());
  ::archive_read_support_format_tar(archive.get());
  ::archive_read_set_options(archive.get(), "hdrcharset=BINARY");
  if (::archive_read_open_fd(archive.get(), fd, 256 << 10) != ARCHIVE_OK) return fail(broken(archive.get()));
  struct archive_entry* entry = nullptr;
  uint64_t room = max_bytes;
  while (true) {
    int status = ::archive_read_next_header(archive.get(), &entry);
    if (status == ARCHIVE_EOF) return out;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return fail(broken(archive.get()));
    if (out.files_.size() + out.links_.size() >= kMostFiles)
      return fail(Code::Invalid, "the archive has too many files");
    const char* raw = ::archive_entry_pathname(entry);
    std::string name = plain_name(raw ? raw : "");
    if (const char* same = ::archive_entry_hardlink(entry)) {
      out.links_[name] = plain_name(same);
    } else if (::archive_entry_filetype(entry) == AE_IFLNK) {
      const char* target = ::archive_entry_symlink(entry);
      out.links_[name] = plain_name(target ? target : "", folder_of(name));
    } else if (::archive_entry_filetype(entry) == AE_IFREG) {
      UniqueFd file = COVE_TRY(blobs.scratch_file());
      COVE_TRY(copy_data(archive.get(), file.get(), room));
      out.files_[name] = std::move(file);
    }
  }
}

Result<std::string> ImageArchive::resolve(std::string name) const {
  constexpr int kMostLinks = 8;
  for (int i = 0; i < kMostLinks; ++i) {
    if (files_.contains(name)) return name;
    auto link = links_.find(name);
    if (link == links_.end()) break;
    name = link->second;
  }
  return fail(Code::Invalid, concat("the archive has no file '", name.substr(0, 200), "'"));
}

Result<int> ImageArchive::open(const std::string& name) {
  int file = files_.at(COVE_TRY(resolve(plain_name(name)))).get();
  if (::lseek(file, 0, SEEK_SET) < 0) return fail_errno("lseek");
  return file;
}

Result<std::string> ImageArchive::text(const std::string& name) {
  std::string text = COVE_TRY(sys::read_all(COVE_TRY(open(name)), kLargestManifest + 1));
  if (text.size() > kLargestManifest)
    return fail(Code::Invalid, concat("'", name.substr(0, 200), "' is longer than ", format_bytes(kLargestManifest)));
  return text;
}

Result<std::string> ImageArchive::blob_text(const Descriptor& descriptor) {
  std::string found = COVE_TRY(text(blob_name(descriptor.digest)));
  if (digest_text(found) != descriptor.digest)
    return fail(Code::Invalid, concat("the blob ", descriptor.digest, " does not match its digest"));
  return found;
}

Result<std::vector<ArchivedImage>> ImageArchive::images(const Platform& platform) {
  if (resolve("index.json")) return layout_images(platform);
  if (resolve("manifest.json")) return docker_images();
  return fail(Error(Code::Invalid, "not an image archive: it has neither index.json nor manifest.json")
                  .hint("use `cove image import` for a root file system"));
}

Result<ArchivedImage> ImageArchive::layout_image(const Descriptor& descriptor, const Platform& platform, int depth) {
  if (depth > kDeepestIndex) return fail(Code::Invalid, "the indexes of the archive are nested too deeply");
  ArchivedImage image;
  image.digest = descriptor.digest;
  image.manifest = COVE_TRY(blob_text(descriptor));
  ManifestDocument document = COVE_TRY(parse_manifest(image.manifest));
  if (auto* index = std::get_if<ManifestIndex>(&document))
    return layout_image(COVE_TRY(choose_manifest(*index, platform)), platform, depth + 1);
  const Manifest& manifest = std::get<Manifest>(document);
  image.config = COVE_TRY(blob_text(manifest.config));
  for (const Descriptor& layer : manifest.layers) {
    uint64_t size = 0;
    if (COVE_TRY(digest_file(COVE_TRY(open(blob_name(layer.digest))), size)) != layer.digest || size != layer.size)
      return fail(Code::Invalid, concat("the layer ", layer.digest, " does not match its digest or size"));
    image.layers.push_back(blob_name(layer.digest));
  }
  return image;
}

Result<std::vector<ArchivedImage>> ImageArchive::layout_images(const Platform& platform) {
  std::string index_text = COVE_TRY(text("index.json"));
  ManifestDocument document = COVE_TRY(parse_manifest(index_text));
  auto* index = std::get_if<ManifestIndex>(&document);
  if (!index || index->manifests.empty() || index->manifests.size() > kMostImages)
    return fail(Code::Invalid, "index.json lists no images or too many");
  Json json = Json::parse(index_text).value_or(Json());
  std::vector<ArchivedImage> images;
  for (size_t i = 0; i < index->manifests.size(); ++i) {
    ArchivedImage image = COVE_TRY(layout_image(index->manifests[i], platform, 0));
    Json annotations = json["manifests"][i].value("annotations", Json::object());
    for (const char* name : {"io.containerd.image.name", "org.opencontainers.image.ref.name"})
      if (image.names.empty() && annotations.is_object() && annotations.contains(name) && annotations[name].is_string())
        image.names.push_back(annotations[name].get<std::string>());
    images.push_back(std::move(image));
  }
  return images;
}

Result<std::vector<ArchivedImage>> ImageArchive::docker_images() {
  Json json = Json::parse(COVE_TRY(text("manifest.json"))).value_or(Json());
  if (!json.is_array() || json.empty() || json.size() > kMostImages)
    return fail(Code::Invalid, "manifest.json lists no images or too many");
  std::vector<ArchivedImage> images;
  for (const Json& each : json) {
    if (!each.is_object() || !each.contains("Config") || !each["Config"].is_string() || !each.contains("Layers") ||
        !each["Layers"].is_array() || each["Layers"].size() > kMostLayers)
      return fail(Code::Invalid, "manifest.json is malformed");
    ArchivedImage image;
    image.config = COVE_TRY(text(each["Config"].get<std::string>()));
    Json layers = Json::array();
    for (const Json& layer : each["Layers"]) {
      if (!layer.is_string()) return fail(Code::Invalid, "manifest.json is malformed");
      uint64_t size = 0;
      std::string digest = COVE_TRY(digest_file(COVE_TRY(open(layer.get<std::string>())), size));
      layers.push_back({{"mediaType", kLayerType}, {"digest", digest}, {"size", size}});
      image.layers.push_back(layer.get<std::string>());
    }
    if (each.contains("RepoTags") && each["RepoTags"].is_array())
      for (const Json& name : each["RepoTags"])
        if (name.is_string()) image.names.push_back(name.get<std::string>());
    image.manifest = Json({{"schemaVersion", 2},
                           {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                           {"config",
                            {{"mediaType", "application/vnd.oci.image.config.v1+json"},
                             {"digest", digest_text(image.config)},
                             {"size", image.config.size()}}},
                           {"layers", std::move(layers)}})
                         .dump();
    image.digest = digest_text(image.manifest);
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace cove
