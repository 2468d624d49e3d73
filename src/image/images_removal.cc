// Removes images and unused files.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "image/images_inside.h"

namespace cove {

// Keeps everything that is in the catalogue or being created.
Result<void> Images::sweep() {
  std::unique_lock alone(layer_store_mutex_);
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
  return layer_store_->sweep(digests, keys);
}

// What cannot be removed in time is removed by the next sweep.
Result<void> Images::sweep_waiting_for(Code hindrance) {
  constexpr int kAttempts = 20;
  Result<void> swept = sweep();
  for (int attempt = 1; attempt < kAttempts && !swept && swept.error().code() == hindrance; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    swept = sweep();
  }
  const bool left = !swept && (swept.error().code() == Code::Conflict || swept.error().code() == Code::Exists);
  return left ? Result<void>() : swept;
}

// Processes of a killed server may not have ended yet. A run without a server may use an image that is not in the
// catalogue; this does not wait for it.
Result<void> Images::sweep_at_start() { return sweep_waiting_for(Code::Exists); }

// A sandbox that was just deleted may still be ending.
Result<void> Images::sweep_patiently() { return sweep_waiting_for(Code::Conflict); }

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
    NamedImage found = COVE_TRY(find_image(catalogue_, word, rules_.registry, ImageUse::Manage));
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
                      .hint("remove it by name, or with force"));
    size_t users = info_of(*found.image).users;
    if (users > 0 && removal == Removal::Careful)
      return fail(Error(Code::Conflict, concat("the image is used by ", users, users == 1 ? " sandbox" : " sandboxes"))
                      .hint("delete these first; with force it only loses its name, and a later prune removes it"));
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

}  // namespace cove
