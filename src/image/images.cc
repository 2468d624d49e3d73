#include "image/images.h"

#include <chrono>

#include "base/crash_point.h"
#include "base/text.h"
#include "image/images_inside.h"

namespace cove {
namespace {

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::vector<std::string> notes_of(const std::vector<unpack::Report>& reports) {
  uint64_t devices = 0, owners = 0, attributes = 0;
  for (const unpack::Report& report : reports)
    devices += report.devices_left_out, owners += report.owners_out_of_range, attributes += report.attributes_left_out;
  std::vector<std::string> notes;
  if (devices > 0) notes.push_back(concat(devices, " devices were left out: sandboxes have their own"));
  if (owners > 0) notes.push_back(concat(owners, " files belong to user ids above 65535 and are owned by nobody here"));
  if (attributes > 0) notes.push_back(concat(attributes, " extended attributes were left out"));
  return notes;
}

}  // namespace

Images::Images(BlobFolder blobs, std::string folder, std::unique_ptr<LayerStore> layer_store, ImageRules rules)
    : blobs_(std::move(blobs)),
      folder_(std::move(folder)),
      layer_store_(std::move(layer_store)),
      rules_(std::move(rules)) {}

Result<std::unique_ptr<Images>> Images::open(const std::string& folder, std::unique_ptr<LayerStore> layer_store,
                                             ImageRules rules) {
  BlobFolder blobs = COVE_TRY(BlobFolder::open(folder));
  std::unique_ptr<Images> images(new Images(std::move(blobs), folder, std::move(layer_store), std::move(rules)));
  images->catalogue_ = COVE_TRY(read_catalogue(folder));
  COVE_TRY_NOTE("remove leftovers of images", images->sweep_at_start());
  return images;
}

Result<ImageInfo> Images::store(const NewImage& image, const LayerSource& source, ImageProgress& progress) {
  if (image.manifest.layers.size() != image.config.diff_ids.size())
    return fail(Code::Invalid, "the image's manifest and its config have different numbers of layers");
  std::vector<ImageProgress::Layer> shown;
  for (const Descriptor& layer : image.manifest.layers) shown.push_back({layer.digest, layer.size});
  progress.begin(std::move(shown));
  Pins pins(*this);
  pins.add(digest_hex(image.digest));
  std::vector<StoredLayer> layers;
  COVE_TRY(need_layers(image, source, progress, pins, layers));
  std::vector<std::string> keys;
  for (const StoredLayer& layer : layers) keys.insert(keys.begin(), layer.key);
  COVE_TRY_NOTE("assemble the image", layer_store_->assemble(digest_hex(image.digest), keys));
  COVE_TRY(blobs_.keep(image.digest, image.manifest_text));
  COVE_TRY(blobs_.keep(image.manifest.config.digest, image.config_text));
  return record(image, std::move(layers));
}

Result<void> Images::save(const Catalogue& catalogue) {
  crash_point("image.record.before");
  COVE_TRY_NOTE("record the image", write_catalogue(folder_, catalogue));
  crash_point("image.record.after");
  return {};
}

Result<ImageInfo> Images::record(const NewImage& image, std::vector<StoredLayer> layers) {
  std::vector<std::string> keys;
  for (const StoredLayer& layer : layers) keys.push_back(layer.key);
  std::vector<unpack::Report> reports;
  for (auto& report : COVE_TRY(layer_store_->find(keys)))
    if (report) reports.push_back(*report);
  std::lock_guard lock(mutex_);
  Catalogue changed = catalogue_;
  StoredImage& stored = changed.images[image.digest];
  stored = {image.digest, image.manifest.config.digest, image.config, std::move(layers), notes_of(reports), now_ms()};
  for (const std::string& name : image.names) changed.names[name] = image.digest;
  COVE_TRY(save(changed));
  catalogue_ = std::move(changed);
  return info_of(catalogue_.images[image.digest]);
}

ImageInfo Images::info_of(const StoredImage& image) const {
  auto held = held_.find(image.digest);
  std::shared_ptr<void> hold = held == held_.end() ? nullptr : held->second.lock();
  return {image, catalogue_.names_of(image.digest), hold ? static_cast<size_t>(hold.use_count()) - 1 : 0};
}

std::vector<ImageInfo> Images::list() const {
  std::lock_guard lock(mutex_);
  std::vector<ImageInfo> all;
  for (const auto& [digest, image] : catalogue_.images) all.push_back(info_of(image));
  return all;
}

Result<ImageInfo> Images::find(const std::string& word) const {
  std::lock_guard lock(mutex_);
  return info_of(*COVE_TRY(find_image(catalogue_, word, rules_.registry, ImageUse::Manage)).image);
}

Result<std::string> Images::find_reference(const std::string& word) const {
  std::lock_guard lock(mutex_);
  return COVE_TRY(find_image(catalogue_, word, rules_.registry)).pinned();
}

Result<ImageInfo> Images::tag(const std::string& word, const std::string& name) {
  ImageReference reference = COVE_TRY(parse_reference(name));
  if (!reference.digest.empty()) return fail(Code::Invalid, "a new name cannot have a digest");
  if (is_host_image(reference.repository) && reference.registry.empty())
    return fail(Error(Code::Invalid, "the name 'host' is reserved for this machine's own userland")
                    .hint("choose another name"));
  std::lock_guard lock(mutex_);
  std::string digest = COVE_TRY(find_image(catalogue_, word, rules_.registry, ImageUse::Manage)).image->digest;
  Catalogue changed = catalogue_;
  changed.names[to_text(reference)] = digest;
  COVE_TRY(save(changed));
  catalogue_ = std::move(changed);
  return info_of(catalogue_.images[digest]);
}

Result<std::vector<std::string>> Images::verify(const std::string& word) {
  StoredImage image = COVE_TRY(find(word)).image;
  std::vector<std::string> problems;
  for (const std::string& digest : {image.digest, image.config_digest})
    if (Result<std::string> text = blobs_.read(digest); !text) problems.push_back(text.error().message());
  std::vector<std::string> keys;
  for (const StoredLayer& layer : image.layers) keys.insert(keys.begin(), layer.key);
  for (const StoredLayer& layer : image.layers) {
    std::optional<unpack::Report> known = COVE_TRY(layer_store_->find({layer.key}))[0];
    if (!known) {
      problems.push_back(concat("layer ", layer.digest, " is missing"));
      continue;
    }
    Result<unpack::Report> now = layer_store_->examine(layer.key);
    if (!now)
      problems.push_back(concat("layer ", layer.digest, " cannot be read: ", now.error().message()));
    else if (now->tree != known->tree || known->diff_id != layer.diff_id)
      problems.push_back(concat("layer ", layer.digest, " was changed after it was unpacked"));
  }
  if (problems.empty())
    if (Result<void> whole = layer_store_->assemble(digest_hex(image.digest), keys); !whole)
      problems.push_back(whole.error().message());
  return problems;
}

std::shared_ptr<void> Images::hold(const std::string& reference) {
  std::string digest = pinned_digest(reference);
  if (digest.empty()) return nullptr;
  std::lock_guard lock(mutex_);
  std::weak_ptr<void>& held = held_[digest];
  std::shared_ptr<void> hold = held.lock();
  if (!hold) held = hold = std::make_shared<int>(0);
  return hold;
}

Result<Images::Use> Images::use(const std::string& word) {
  Use use;
  {
    std::lock_guard lock(mutex_);
    NamedImage found = COVE_TRY(find_image(catalogue_, word, rules_.registry));
    use.reference = found.pinned();
    use.config = found.image->config;
    use.notes = found.image->notes;
    std::weak_ptr<void>& held = held_[found.image->digest];
    use.hold = held.lock();
    if (!use.hold) held = use.hold = std::make_shared<int>(0);
  }
  return use;
}

}  // namespace cove
