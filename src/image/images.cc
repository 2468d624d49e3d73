#include "image/images.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/crash_point.h"
#include "base/text.h"
#include "sys/file.h"
#include "unpack/sha256.h"

namespace cove {
namespace {

using Json = nlohmann::json;

constexpr int kDeepestIndex = 3;
constexpr size_t kAtOnce = 3;  // layers of one image

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string hash(std::string_view text) {
  unpack::Sha256 digest;
  digest.update(text);
  return digest.hex();
}

// The key of a layer whose unpacked form depends on those below it; the topmost first.
std::string dependent_key(const std::string& digest, const std::vector<std::string>& parents) {
  return hash(concat(digest, "\n", join(parents, "\n")));
}

Result<void> check_platform(const ImageConfig& config, const std::optional<Platform>& asked) {
  if (!config.platform.os.empty() && config.platform.os != "linux")
    return fail(Code::Unsupported, concat("the image is for ", to_text(config.platform), ", and this is Linux"));
  Platform wanted = asked.value_or(own_platform());
  if (config.platform.architecture.empty() || config.platform.architecture == wanted.architecture) return {};
  return fail(
      Error(Code::Unsupported, concat("the image is for ", to_text(config.platform), ", not for ", to_text(wanted)))
          .hint(concat("--platform ", to_text(config.platform), " takes it all the same")));
}

std::vector<std::string> notes_of(const std::vector<unpack::Report>& reports) {
  uint64_t devices = 0, owners = 0, attributes = 0;
  for (const unpack::Report& report : reports)
    devices += report.devices_left_out, owners += report.owners_out_of_range, attributes += report.attributes_left_out;
  std::vector<std::string> notes;
  if (devices > 0) notes.push_back(concat(devices, " devices were left out: a sandbox has its own"));
  if (owners > 0) notes.push_back(concat(owners, " files belong to users beyond 65535: they are nobody's here"));
  if (attributes > 0) notes.push_back(concat(attributes, " extended attributes were left out"));
  return notes;
}

}  // namespace

// A layer that an image needs.
struct Images::LayerWork {
  std::string key;  // empty until it is known, and the layer there
  unpack::Report report;
  Archive archive;  // fetched, and to be unpacked on those below it
};

// What is named here is not swept away as long as this lives.
class Images::Pins {
 public:
  explicit Pins(Images& images) : images_(images) {}
  ~Pins() {
    std::lock_guard lock(images_.pins_mutex_);
    for (const std::string& name : names_)
      if (auto found = images_.pinned_.find(name); found != images_.pinned_.end()) images_.pinned_.erase(found);
  }
  Pins(const Pins&) = delete;
  Pins& operator=(const Pins&) = delete;

  void add(const std::string& name) {
    std::lock_guard lock(images_.pins_mutex_);
    images_.pinned_.insert(name);
    names_.push_back(name);
  }

 private:
  Images& images_;
  std::vector<std::string> names_;
};

// One at a time works on a layer; whoever comes meanwhile waits, and finds it there.
class Images::Turn {
 public:
  Turn(Images& images, std::string digest) : images_(images), digest_(std::move(digest)) {
    std::unique_lock lock(images_.turns_mutex_);
    images_.turn_over_.wait(lock, [&] { return !images_.turns_.contains(digest_); });
    images_.turns_.insert(digest_);
  }
  ~Turn() {
    {
      std::lock_guard lock(images_.turns_mutex_);
      images_.turns_.erase(digest_);
    }
    images_.turn_over_.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Images& images_;
  std::string digest_;
};

Images::Images(BlobFolder blobs, std::string folder, std::unique_ptr<LayerShelf> shelf, ImageRules rules)
    : blobs_(std::move(blobs)), folder_(std::move(folder)), shelf_(std::move(shelf)), rules_(std::move(rules)) {}

Result<std::unique_ptr<Images>> Images::open(const std::string& folder, std::unique_ptr<LayerShelf> shelf,
                                             ImageRules rules) {
  BlobFolder blobs = COVE_TRY(BlobFolder::open(folder));
  std::unique_ptr<Images> images(new Images(std::move(blobs), folder, std::move(shelf), std::move(rules)));
  images->catalogue_ = COVE_TRY(read_catalogue(folder));
  Result<void> swept = images->sweep();
  // A run without a server may use one of them.
  if (!swept && swept.error().code() != Code::Conflict)
    return fail(std::move(swept.error()).note("remove what is left of images"));
  return images;
}

// --- fetching
// ------------------------------------------------------------------------------------------------------------

Result<ImageReference> Images::reference_of(const std::string& word) const {
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

Result<ImageInfo> Images::pull(const PullOrder& order, ImageProgress& progress) {
  ImageReference reference = COVE_TRY(reference_of(order.reference));
  Registry registry(reference, order.login, {rules_.insecure});
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

Result<std::vector<ImageInfo>> Images::load(int fd) {
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
    ImageProgress progress;
    auto source = [&](size_t index) -> Result<Archive> {
      Archive layer;
      layer.fd = COVE_TRY(archive.open(each.layers[index]));
      return layer;
    };
    loaded.push_back(COVE_TRY(store(image, source, progress)));
  }
  return loaded;
}

// The documents of an image that nobody has made yet: one layer, and a config.
Result<ImageInfo> Images::import(int fd, const ImportOrder& order) {
  ImageReference reference = COVE_TRY(parse_reference(order.name));
  if (!reference.digest.empty()) return fail(Code::Invalid, "an image that is imported cannot choose its digest");
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
    std::shared_lock lock(shelf_mutex_);
    pins.add(request.key), pins.add(request.dependent_key);
    std::vector<std::optional<unpack::Report>> there = COVE_TRY(shelf_->find({request.key, request.dependent_key}));
    lock.unlock();
    if (::lseek(fd, 0, SEEK_SET) < 0) return fail_errno("lseek");
    report = there[0] ? *there[0] : there[1] ? *there[1] : COVE_TRY_NOTE("unpack the archive", shelf_->unpack(request));
  }
  NewImage image;
  std::vector<std::string> env;
  for (const auto& [name, value] : order.config.env) env.push_back(concat(name, "=", value));
  image.config_text = Json({{"os", "linux"},
                            {"architecture", own_platform().architecture},
                            {"config",
                             {{"Env", env},
                              {"Entrypoint", order.config.entrypoint},
                              {"Cmd", order.config.cmd},
                              {"WorkingDir", order.config.cwd},
                              {"User", order.config.user}}},
                            {"rootfs", {{"type", "layers"}, {"diff_ids", {report.diff_id}}}}})
                          .dump(-1, ' ', false, Json::error_handler_t::replace);
  image.config = COVE_TRY(parse_image_config(image.config_text));
  image.manifest.config = {"application/vnd.oci.image.config.v1+json",
                           concat("sha256:", hash(image.config_text)),
                           image.config_text.size(),
                           {}};
  image.manifest.layers = {{"application/vnd.oci.image.layer.v1.tar", digest, size, {}}};
  image.manifest_text =
      Json({{"schemaVersion", 2},
            {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
            {"config",
             {{"mediaType", image.manifest.config.media_type},
              {"digest", image.manifest.config.digest},
              {"size", image.manifest.config.size}}},
            {"layers", {{{"mediaType", image.manifest.layers[0].media_type}, {"digest", digest}, {"size", size}}}}})
          .dump();
  image.digest = concat("sha256:", hash(image.manifest_text));
  image.names = {to_text(reference)};
  ImageProgress progress;
  return store(image, [](size_t) -> Result<Archive> { return fail(Code::Internal, "the layer is gone"); }, progress);
}

// --- layers
// --------------------------------------------------------------------------------------------------------------

// What is there already. As soon as one is missing, those above it that depend on it are not looked for.
Result<void> Images::find_layers(const NewImage& image, Pins& pins, std::vector<LayerWork>& works) {
  std::shared_lock lock(shelf_mutex_);
  std::vector<std::string> parents;
  bool all = true;
  for (size_t i = 0; i < works.size(); ++i) {
    const std::string& digest = image.manifest.layers[i].digest;
    std::vector<std::string> keys = {digest_hex(digest)};
    if (all) keys.push_back(dependent_key(digest, parents));
    for (const std::string& key : keys) pins.add(key);
    std::vector<std::optional<unpack::Report>> found = COVE_TRY(shelf_->find(keys));
    for (size_t k = 0; k < keys.size(); ++k)
      if (works[i].key.empty() && found[k]) works[i].key = keys[k], works[i].report = *found[k];
    all = all && !works[i].key.empty();
    parents.insert(parents.begin(), works[i].key);
  }
  return {};
}

Result<void> Images::unpack_alone(const NewImage& image, size_t index, const LayerSource& source,
                                  ImageProgress& progress, LayerWork& work) {
  const Descriptor& layer = image.manifest.layers[index];
  Turn turn(*this, layer.digest);
  UnpackRequest request;
  request.key = digest_hex(layer.digest);
  request.dependent_key = dependent_key(layer.digest, {});
  request.lowest = index == 0;
  request.max_bytes = rules_.max_bytes;
  request.max_entries = rules_.max_entries;
  std::vector<std::optional<unpack::Report>> there = COVE_TRY(shelf_->find({request.key, request.dependent_key}));
  if (there[0] || (request.lowest && there[1])) {
    work.key = there[0] ? request.key : request.dependent_key;
    work.report = there[0] ? *there[0] : *there[1];
    progress.set(index, LayerState::Done);
    return {};
  }
  progress.set(index, LayerState::Fetching);
  work.archive = COVE_TRY(source(index));
  request.archive = work.archive.fd;
  progress.set(index, LayerState::Unpacking);
  work.report = COVE_TRY_NOTE(concat("unpack layer ", layer.digest), shelf_->unpack(request));
  if (work.report.needs_parents && !request.lowest) return {};  // later
  work.key = work.report.needs_parents ? request.dependent_key : request.key;
  work.archive = {};
  blobs_.drop(layer.digest);
  progress.set(index, LayerState::Done);
  return {};
}

Result<void> Images::unpack_on_parents(const NewImage& image, size_t index, const LayerSource& source,
                                       ImageProgress& progress, Pins& pins, std::vector<LayerWork>& works) {
  const Descriptor& layer = image.manifest.layers[index];
  Turn turn(*this, layer.digest);
  UnpackRequest request;
  for (size_t i = index; i > 0; --i) request.parents.push_back(works[i - 1].key);
  request.key = request.dependent_key = dependent_key(layer.digest, request.parents);
  request.max_bytes = rules_.max_bytes;
  request.max_entries = rules_.max_entries;
  LayerWork& work = works[index];
  {
    std::shared_lock lock(shelf_mutex_);
    pins.add(request.key);
    std::optional<unpack::Report> there = COVE_TRY(shelf_->find({request.key}))[0];
    if (there) work.report = *there, work.key = request.key;
  }
  if (work.key.empty()) {
    if (work.archive.fd < 0) work.archive = COVE_TRY(source(index));
    if (::lseek(work.archive.fd, 0, SEEK_SET) < 0) return fail_errno("lseek");
    request.archive = work.archive.fd;
    work.report = COVE_TRY_NOTE(concat("unpack layer ", layer.digest), shelf_->unpack(request));
    work.key = request.key;
  }
  work.archive = {};
  blobs_.drop(layer.digest);
  progress.set(index, LayerState::Done);
  return {};
}

Result<void> Images::need_layers(const NewImage& image, const LayerSource& source, ImageProgress& progress, Pins& pins,
                                 std::vector<StoredLayer>& layers) {
  std::vector<LayerWork> works(image.manifest.layers.size());
  COVE_TRY(find_layers(image, pins, works));
  std::mutex mutex;
  size_t next = 0;
  std::optional<Error> failure;
  auto work = [&] {
    while (true) {
      size_t index;
      {
        std::lock_guard lock(mutex);
        while (next < works.size() && !works[next].key.empty()) progress.set(next++, LayerState::Shared);
        if (failure || next == works.size()) return;
        index = next++;
      }
      Result<void> done = unpack_alone(image, index, source, progress, works[index]);
      std::lock_guard lock(mutex);
      if (!done && !failure) failure = done.error();
    }
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(kAtOnce, works.size()); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  if (failure) return fail(*failure);
  for (size_t i = 0; i < works.size(); ++i)
    if (works[i].key.empty()) COVE_TRY(unpack_on_parents(image, i, source, progress, pins, works));
  for (size_t i = 0; i < works.size(); ++i) {
    const Descriptor& layer = image.manifest.layers[i];
    if (works[i].report.diff_id != image.config.diff_ids[i])
      return fail(Code::Invalid,
                  concat("the layer ", layer.digest, " is not what the image's config says: unpacked it is ",
                         works[i].report.diff_id));
    layers.push_back({layer.digest, works[i].key, works[i].report.diff_id, layer.size, works[i].report.bytes,
                      works[i].report.entries});
  }
  return {};
}

// --- the record
// ----------------------------------------------------------------------------------------------------------

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
  COVE_TRY_NOTE("put the image together", shelf_->assemble(digest_hex(image.digest), keys));
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
  for (auto& report : COVE_TRY(shelf_->find(keys)))
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
  return info_of(*COVE_TRY(find_image(catalogue_, word, rules_.registry)).image);
}

Result<std::string> Images::find_reference(const std::string& word) const {
  std::lock_guard lock(mutex_);
  return COVE_TRY(find_image(catalogue_, word, rules_.registry)).pinned();
}

Result<ImageInfo> Images::tag(const std::string& word, const std::string& name) {
  ImageReference reference = COVE_TRY(parse_reference(name));
  if (!reference.digest.empty()) return fail(Code::Invalid, "a new name cannot have a digest");
  if (is_host_image(reference.repository) && reference.registry.empty())
    return fail(Error(Code::Invalid, "the name 'host' is taken: it is this machine's own userland")
                    .hint("choose another name"));
  std::lock_guard lock(mutex_);
  std::string digest = COVE_TRY(find_image(catalogue_, word, rules_.registry)).image->digest;
  Catalogue changed = catalogue_;
  changed.names[to_text(reference)] = digest;
  COVE_TRY(save(changed));
  catalogue_ = std::move(changed);
  return info_of(catalogue_.images[digest]);
}

// --- the end
// -------------------------------------------------------------------------------------------------------------

// With all that is on record, or being made, left alone.
Result<void> Images::sweep() {
  std::unique_lock alone(shelf_mutex_);
  std::vector<std::string> digests, keys, blobs;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [digest, image] : catalogue_.images) {
      digests.push_back(digest_hex(digest));
      blobs.push_back(digest), blobs.push_back(image.config_digest);
      for (const StoredLayer& layer : image.layers) keys.push_back(layer.key);
    }
  }
  const bool quiet = [&] {
    std::lock_guard lock(pins_mutex_);
    for (const std::string& pinned : pinned_) digests.push_back(pinned), keys.push_back(pinned);
    return pinned_.empty();
  }();
  for (const std::string& digest : COVE_TRY(blobs_.kept()))
    if (quiet && std::ranges::find(blobs, digest) == blobs.end()) blobs_.forget(digest);
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return shelf_->sweep(digests, keys);
}

// A sandbox that was deleted a moment ago may still be coming down, or a run without a server may use the image: what
// stays then goes with the next sweep.
Result<void> Images::sweep_patiently() {
  constexpr int kAttempts = 20;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Result<void> swept = sweep();
    if (swept || swept.error().code() != Code::Conflict) return swept;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

Result<Images::Removed> Images::drop(const std::vector<std::string>& digests, Catalogue changed) {
  Removed removed;
  removed.digests = digests;
  {
    // The caller holds mutex_.
    std::map<std::string, uint64_t> before, after;
    for (const auto& [digest, image] : catalogue_.images)
      for (const StoredLayer& layer : image.layers) before[layer.key] = layer.unpacked_size;
    for (const std::string& digest : digests) changed.images.erase(digest);
    for (const auto& [digest, image] : changed.images)
      for (const StoredLayer& layer : image.layers) after[layer.key] = layer.unpacked_size;
    for (const auto& [key, size] : before)
      if (!after.contains(key)) removed.bytes += size;
    for (const auto& [name, digest] : catalogue_.names)
      if (!changed.names.contains(name)) removed.names.push_back(name);
    COVE_TRY(save(changed));
    catalogue_ = std::move(changed);
  }
  return removed;
}

Result<Images::Removed> Images::remove(const std::string& word, Removal removal) {
  Removed removed;
  {
    std::lock_guard lock(mutex_);
    NamedImage found = COVE_TRY(find_image(catalogue_, word, rules_.registry));
    std::string digest = found.image->digest;
    std::vector<std::string> names = catalogue_.names_of(digest);
    const bool by_name = !found.name.empty() && catalogue_.names.contains(found.name);
    Catalogue changed = catalogue_;
    if (by_name && names.size() > 1) {
      changed.names.erase(found.name);
      return drop({}, std::move(changed));
    }
    if (!by_name && names.size() > 1 && removal == Removal::Careful)
      return fail(Error(Code::Conflict, concat("the image has ", names.size(), " names: ", join(names, ", ")))
                      .hint("remove it by name, or by force"));
    size_t users = info_of(*found.image).users;
    if (users > 0 && removal == Removal::Careful)
      return fail(Error(Code::Conflict, concat("the image is used by ", users, users == 1 ? " sandbox" : " sandboxes"))
                      .hint("delete those first; by force it only loses its name, and goes when nobody uses it"));
    for (const std::string& name : names) changed.names.erase(name);
    removed =
        COVE_TRY(drop(users > 0 ? std::vector<std::string>() : std::vector<std::string>{digest}, std::move(changed)));
  }
  for (const std::string& digest : removed.digests)
    if (on_remove_) on_remove_(digest);
  COVE_TRY_NOTE("remove the image's files", sweep_patiently());
  return removed;
}

Result<Images::Removed> Images::prune(Prune what) {
  Removed removed;
  {
    std::lock_guard lock(mutex_);
    std::vector<std::string> unused;
    Catalogue changed = catalogue_;
    for (const auto& [digest, image] : catalogue_.images) {
      ImageInfo info = info_of(image);
      if (info.users > 0 || (what == Prune::Nameless && !info.names.empty())) continue;
      unused.push_back(digest);
      for (const std::string& name : info.names) changed.names.erase(name);
    }
    removed = COVE_TRY(drop(unused, std::move(changed)));
  }
  for (const std::string& digest : removed.digests)
    if (on_remove_) on_remove_(digest);
  {
    std::lock_guard lock(turns_mutex_);
    blobs_.drop_all_but({turns_.begin(), turns_.end()});
  }
  COVE_TRY_NOTE("remove the images' files", sweep_patiently());
  return removed;
}

Result<std::vector<std::string>> Images::verify(const std::string& word) {
  StoredImage image = COVE_TRY(find(word)).image;
  std::vector<std::string> problems;
  for (const std::string& digest : {image.digest, image.config_digest})
    if (Result<std::string> text = blobs_.read(digest); !text) problems.push_back(text.error().message());
  std::vector<std::string> keys;
  for (const StoredLayer& layer : image.layers) keys.insert(keys.begin(), layer.key);
  for (const StoredLayer& layer : image.layers) {
    std::optional<unpack::Report> known = COVE_TRY(shelf_->find({layer.key}))[0];
    if (!known) {
      problems.push_back(concat("layer ", layer.digest, " is missing"));
      continue;
    }
    Result<unpack::Report> now = shelf_->examine(layer.key);
    if (!now)
      problems.push_back(concat("layer ", layer.digest, " cannot be read: ", now.error().message()));
    else if (now->tree != known->tree || known->diff_id != layer.diff_id)
      problems.push_back(concat("layer ", layer.digest, " is not as it was unpacked"));
  }
  if (problems.empty())
    if (Result<void> whole = shelf_->assemble(digest_hex(image.digest), keys); !whole)
      problems.push_back(whole.error().message());
  return problems;
}

// --- use
// -----------------------------------------------------------------------------------------------------------------

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
