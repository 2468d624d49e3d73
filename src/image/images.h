#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/blob_folder.h"
#include "image/catalogue.h"
#include "image/image_archive.h"
#include "image/image_progress.h"
#include "image/layer_store.h"
#include "image/registry.h"

namespace cove {

struct ImageRules {
  std::string registry;               // of names that have none; empty: none
  std::string mirror;                 // of Docker Hub; empty: none
  std::vector<std::string> insecure;  // registries to which plain HTTP may be spoken
  std::vector<std::string> allowed;   // registries that may be at any address
  uint64_t max_bytes = uint64_t{32} << 30;
  uint64_t max_entries = 2'000'000;
};

// An image as its users see it.
struct ImageInfo {
  StoredImage image;
  std::vector<std::string> names;
  size_t users = 0;  // sandboxes
};

// The images that the server has. Thread-safe; calls take as long as the work does.
//
// An image is on record when all of it is there, and off the record before anything of it goes: whatever a killed
// server leaves is either whole or swept away by the next. Two who want the same layer share the work.
class Images {
 public:
  static Result<std::unique_ptr<Images>> open(const std::string& folder, std::unique_ptr<LayerStore> layer_store,
                                              ImageRules rules);

  struct PullOrder {
    std::string reference;
    std::optional<Platform> platform;
    RegistryLogin login;
    Reach reach = Reach::Anywhere;  // of registries that no setting names
  };
  Result<ImageInfo> pull(const PullOrder& order, ImageProgress& progress);
  // What the word would be pulled as; Invalid.
  Result<ImageReference> reference_of(const std::string& word) const;

  // An archive of images, from where the descriptor stands.
  Result<std::vector<ImageInfo>> load(int archive, ImageProgress& progress);
  // A root file system, as one layer.
  struct ImportOrder {
    std::string name;
    ImageConfig config;
  };
  Result<ImageInfo> import(int archive, const ImportOrder& order, ImageProgress& progress);

  // Where an archive can be put until it is read; without a name.
  Result<UniqueFd> scratch_file() const { return blobs_.scratch_file(); }

  std::vector<ImageInfo> list() const;
  Result<ImageInfo> find(const std::string& word) const;
  // NAME@DIGEST of an image that is there.
  Result<std::string> find_reference(const std::string& word) const;
  Result<ImageInfo> tag(const std::string& word, const std::string& name);
  // Takes the name away, and with its last name the image. One that sandboxes use is refused (Conflict), or, by force,
  // left without a name until nobody uses it.
  enum class Removal { Careful, Forced };
  struct Removed {
    std::vector<std::string> names;
    std::vector<std::string> digests;
    uint64_t bytes = 0;  // of layers that are gone, unpacked
  };
  Result<Removed> remove(const std::string& word, Removal removal);
  // Images without a name that nobody uses, or all that nobody uses; and what was fetched in vain.
  enum class Prune { Nameless, Unused };
  Result<Removed> prune(Prune what);
  // What is wrong with an image: nothing, if all is well.
  Result<std::vector<std::string>> verify(const std::string& word);

  // For a sandbox: what it is made of, and something that keeps it for as long as it lives.
  struct Use {
    std::string reference;  // NAME@DIGEST
    ImageConfig config;
    std::vector<std::string> notes;
    std::shared_ptr<void> hold;
  };
  Result<Use> use(const std::string& word);
  // Of a sandbox that is there: by the reference that it was made with.
  std::shared_ptr<void> hold(const std::string& reference);
  // Called before an image's files go: whoever has something of it ready lets go.
  void on_remove(std::function<void(const std::string& digest)> hook) { on_remove_ = std::move(hook); }

 private:
  struct NewImage {
    std::string digest;
    std::string manifest_text;
    Manifest manifest;
    std::string config_text;
    ImageConfig config;
    std::vector<std::string> names;
  };
  // An archive of a layer, checked.
  struct Archive {
    UniqueFd own;
    int fd = -1;
  };
  using LayerSource = std::function<Result<Archive>(size_t index)>;
  struct LayerWork;
  class Pins;
  class Turn;

  Reach reach_of(const ImageReference& reference, const PullOrder& order) const;
  Images(BlobFolder blobs, std::string folder, std::unique_ptr<LayerStore> layer_store, ImageRules rules);
  Result<NewImage> fetch_documents(Registry& registry, const ImageReference& reference, const PullOrder& order);
  Result<ImageInfo> store(const NewImage& image, const LayerSource& source, ImageProgress& progress);
  Result<void> need_layers(const NewImage& image, const LayerSource& source, ImageProgress& progress, Pins& pins,
                           std::vector<StoredLayer>& layers);
  Result<void> find_layers(const NewImage& image, Pins& pins, std::vector<LayerWork>& works);
  Result<void> unpack_alone(const NewImage& image, size_t index, const LayerSource& source, ImageProgress& progress,
                            LayerWork& work);
  Result<void> unpack_on_parents(const NewImage& image, size_t index, const LayerSource& source,
                                 ImageProgress& progress, Pins& pins, std::vector<LayerWork>& works);
  Result<ImageInfo> record(const NewImage& image, std::vector<StoredLayer> layers);
  Result<void> save(const Catalogue& catalogue);
  Result<void> sweep();
  Result<void> sweep_waiting_for(Code hindrance);
  Result<void> sweep_at_start();
  Result<void> sweep_patiently();
  ImageInfo info_of(const StoredImage& image) const;
  Result<Removed> drop(const std::vector<std::string>& digests, Catalogue changed);

  const BlobFolder blobs_;
  const std::string folder_;
  const std::unique_ptr<LayerStore> layer_store_;
  const ImageRules rules_;
  std::function<void(const std::string&)> on_remove_;

  mutable std::mutex mutex_;  // of the catalogue and of holds
  Catalogue catalogue_;
  std::map<std::string, std::weak_ptr<void>> held_;  // by digest

  std::shared_mutex layer_store_mutex_;  // alone: sweeping; together: looking for what must stay
  std::mutex pins_mutex_;
  std::multiset<std::string> pinned_;  // keys and digests of what is being made

  std::mutex turns_mutex_;
  std::condition_variable turn_over_;
  std::set<std::string> turns_;  // digests of layers that somebody is at work on
};

}  // namespace cove
