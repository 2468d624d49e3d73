// Finds the layers that an image needs, or fetches and unpacks them.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "image/images_inside.h"

namespace cove {
namespace {

constexpr size_t kAtOnce = 3;  // layers of one image

}  // namespace

// Finds existing layers. If one is missing, those above that depend on it are not looked up.
Result<void> Images::find_layers(const NewImage& image, Pins& pins, std::vector<LayerWork>& works) {
  std::shared_lock lock(layer_store_mutex_);
  std::vector<std::string> parents;
  bool all = true;
  for (size_t i = 0; i < works.size(); ++i) {
    const std::string& digest = image.manifest.layers[i].digest;
    std::vector<std::string> keys = {digest_hex(digest)};
    if (all) keys.push_back(dependent_key(digest, parents));
    for (const std::string& key : keys) pins.add(key);
    std::vector<std::optional<unpack::Report>> found = COVE_TRY(layer_store_->find(keys));
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
  if (progress.cancelled) return fail(Code::Unavailable, "it was cancelled");
  UnpackRequest request;
  request.key = digest_hex(layer.digest);
  request.dependent_key = dependent_key(layer.digest, {});
  request.lowest = index == 0;
  request.max_bytes = rules_.max_bytes;
  request.max_entries = rules_.max_entries;
  std::vector<std::optional<unpack::Report>> there = COVE_TRY(layer_store_->find({request.key, request.dependent_key}));
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
  work.report = COVE_TRY_NOTE(concat("unpack layer ", layer.digest), layer_store_->unpack(request));
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
    std::shared_lock lock(layer_store_mutex_);
    pins.add(request.key);
    std::optional<unpack::Report> there = COVE_TRY(layer_store_->find({request.key}))[0];
    if (there) work.report = *there, work.key = request.key;
  }
  if (work.key.empty()) {
    if (work.archive.fd < 0) work.archive = COVE_TRY(source(index));
    if (::lseek(work.archive.fd, 0, SEEK_SET) < 0) return fail_errno("lseek");
    request.archive = work.archive.fd;
    work.report = COVE_TRY_NOTE(concat("unpack layer ", layer.digest), layer_store_->unpack(request));
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
                  concat("the layer ", layer.digest, " does not match the image's config: its diff id is ",
                         works[i].report.diff_id, " instead of ", image.config.diff_ids[i]));
    layers.push_back({layer.digest, works[i].key, works[i].report.diff_id, layer.size, works[i].report.bytes,
                      works[i].report.entries});
  }
  return {};
}

}  // namespace cove
