// Adds images from registries, archives and root file systems.
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "image/images_inside.h"

namespace cove {
namespace {

constexpr int kDeepestIndex = 3;
constexpr const char* kManifestType = "application/vnd.oci.image.manifest.v1+json";
constexpr const char* kConfigType = "application/vnd.oci.image.config.v1+json";
constexpr const char* kLayerType = "application/vnd.oci.image.layer.v1.tar";

Result<void> check_platform(const ImageConfig& config, const std::optional<Platform>& asked) {
  if (!config.platform.os.empty() && config.platform.os != "linux")
    return fail(Code::Unsupported, concat("the image is for ", to_text(config.platform), ", not for Linux"));
  Platform wanted = asked.value_or(own_platform());
  if (config.platform.architecture.empty() || config.platform.architecture == wanted.architecture) return {};
  return fail(
      Error(Code::Unsupported, concat("the image is for ", to_text(config.platform), ", not for ", to_text(wanted)))
          .hint(concat("--platform ", to_text(config.platform), " pulls it anyway")));
}

// Creates the documents of a new image: one layer and a config.
std::string config_text(const ImageConfig& config, const std::string& diff_id) {
  std::vector<std::string> env;
  for (const auto& [name, value] : config.env) env.push_back(concat(name, "=", value));
  return Json({{"os", "linux"},
               {"architecture", own_platform().architecture},
               {"config",
                {{"Env", env},
                 {"Entrypoint", config.entrypoint},
                 {"Cmd", config.cmd},
                 {"WorkingDir", config.cwd},
                 {"User", config.user}}},
               {"rootfs", {{"type", "layers"}, {"diff_ids", {diff_id}}}}})
      .dump();
}

Json descriptor_json(const Descriptor& descriptor) {
  return {{"mediaType", descriptor.media_type}, {"digest", descriptor.digest}, {"size", descriptor.size}};
}

std::string manifest_text(const Manifest& manifest) {
  Json layers = Json::array();
  for (const Descriptor& layer : manifest.layers) layers.push_back(descriptor_json(layer));
  return Json({{"schemaVersion", 2},
               {"mediaType", kManifestType},
               {"config", descriptor_json(manifest.config)},
               {"layers", layers}})
      .dump();
}

}  // namespace

Result<ImageReference> Images::reference_of(const std::string& word) const {
  if (is_host_image(word))
    return fail(Error(Code::Invalid, "the image host is this machine's own userland and cannot be pulled")
                    .hint("cove run uses it by default"));
  return complete_reference(COVE_TRY(parse_reference(word)), rules_.registry);
}

// The manifest of the image for the platform, through at most a few indexes, and its config.
Result<Images::NewImage> Images::fetch_documents(Registry& registry, const ImageReference& reference,
                                                 const PullOrder& order) {
  NewImage image;
  std::string next = reference.digest.empty() ? reference.tag : reference.digest;
  std::optional<Manifest> manifest;
  for (int depth = 0; !manifest; ++depth) {
    if (depth > kDeepestIndex) return fail(Code::Invalid, "the indexes of the image are nested too deeply");
    Registry::Fetched fetched = COVE_TRY(registry.manifest(next));
    ManifestDocument document = COVE_TRY(parse_manifest(fetched.text));
    if (auto* found = std::get_if<Manifest>(&document)) {
      manifest = std::move(*found);
      image.digest = fetched.digest;
      image.manifest_text = std::move(fetched.text);
    } else {
      next =
          COVE_TRY(choose_manifest(std::get<ManifestIndex>(document), order.platform.value_or(own_platform()))).digest;
    }
  }
  image.manifest = std::move(*manifest);
  image.config_text = COVE_TRY(registry.blob(image.manifest.config));
  image.config = COVE_TRY(parse_image_config(image.config_text));
  COVE_TRY(check_platform(image.config, order.platform));
  image.names = {to_text(reference)};
  return image;
}

// A registry that the administrator named may have any address.
Reach Images::reach_of(const ImageReference& reference, const PullOrder& order) const {
  auto named_in = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, reference.registry) != list.end();
  };
  const std::string usual = rules_.registry.substr(0, rules_.registry.find('/'));
  const bool named = reference.registry == usual || named_in(rules_.insecure) || named_in(rules_.allowed);
  return named ? Reach::Anywhere : order.reach;
}

Result<ImageInfo> Images::pull(const PullOrder& order, ImageProgress& progress) {
  ImageReference reference = COVE_TRY(reference_of(order.reference));
  // A mirror must not get the credentials for Docker Hub.
  const bool mirrored = reference.registry == kDockerHub && !rules_.mirror.empty();
  Registry registry(source_of(reference, rules_.mirror), mirrored ? RegistryLogin() : order.login,
                    {rules_.insecure, mirrored ? Reach::Anywhere : reach_of(reference, order)}, progress.cancelled);
  NewImage image = COVE_TRY_NOTE(concat("pull ", to_text(reference)), fetch_documents(registry, reference, order));
  auto source = [&](size_t index) -> Result<Archive> {
    Archive archive;
    archive.own = COVE_TRY(blobs_.fetch(registry, image.manifest.layers[index], progress, index));
    if (::lseek(archive.own.get(), 0, SEEK_SET) < 0) return fail_errno("lseek");
    archive.fd = archive.own.get();
    return archive;
  };
  return COVE_TRY_NOTE(concat("pull ", to_text(reference)), store(image, source, progress));
}

Result<std::vector<ImageInfo>> Images::load(int fd, ImageProgress& progress) {
  ImageArchive archive = COVE_TRY(ImageArchive::read(fd, blobs_, rules_.max_bytes));
  std::vector<ImageInfo> loaded;
  for (ArchivedImage& each : COVE_TRY(archive.images(own_platform()))) {
    NewImage image;
    image.digest = each.digest;
    image.manifest = std::get<Manifest>(COVE_TRY(parse_manifest(each.manifest)));
    image.manifest_text = std::move(each.manifest);
    image.config = COVE_TRY(parse_image_config(each.config));
    image.config_text = std::move(each.config);
    COVE_TRY(check_platform(image.config, std::nullopt));
    for (const std::string& name : each.names)
      if (Result<ImageReference> reference = parse_reference(name)) image.names.push_back(to_text(*reference));
    auto source = [&](size_t index) -> Result<Archive> {
      Archive layer;
      layer.fd = COVE_TRY(archive.open(each.layers[index]));
      return layer;
    };
    loaded.push_back(COVE_TRY(store(image, source, progress)));
  }
  return loaded;
}

Result<ImageInfo> Images::import(int fd, const ImportOrder& order, ImageProgress& progress) {
  ImageReference reference = COVE_TRY(parse_reference(order.name));
  if (!reference.digest.empty()) return fail(Code::Invalid, "the name of an imported image cannot contain a digest");
  uint64_t size = 0;
  std::string digest = COVE_TRY(digest_file(fd, size));
  Pins pins(*this);
  UnpackRequest request;
  request.key = digest_hex(digest);
  request.dependent_key = dependent_key(digest, {});
  request.archive = fd;
  request.lowest = true;
  request.max_bytes = rules_.max_bytes;
  request.max_entries = rules_.max_entries;
  unpack::Report report;
  {
    Turn turn(*this, digest);
    std::shared_lock lock(layer_store_mutex_);
    pins.add(request.key), pins.add(request.dependent_key);
    std::vector<std::optional<unpack::Report>> there =
        COVE_TRY(layer_store_->find({request.key, request.dependent_key}));
    lock.unlock();
    if (::lseek(fd, 0, SEEK_SET) < 0) return fail_errno("lseek");
    report = there[0]   ? *there[0]
             : there[1] ? *there[1]
                        : COVE_TRY_NOTE("unpack the archive", layer_store_->unpack(request));
  }
  NewImage image;
  image.config_text = config_text(order.config, report.diff_id);
  image.config = COVE_TRY(parse_image_config(image.config_text));
  image.manifest.config = {kConfigType, concat("sha256:", sha256_hex(image.config_text)), image.config_text.size(), {}};
  image.manifest.layers = {{kLayerType, digest, size, {}}};
  image.manifest_text = manifest_text(image.manifest);
  image.digest = concat("sha256:", sha256_hex(image.manifest_text));
  image.names = {to_text(reference)};
  return store(image, [](size_t) -> Result<Archive> { return fail(Code::Internal, "the layer is gone"); }, progress);
}

}  // namespace cove
