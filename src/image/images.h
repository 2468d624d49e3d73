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
  std::string registry;               // default for names without one; empty: none
  std::string mirror;                 // of Docker Hub; empty: none
  std::vector<std::string> insecure;  // registries that may be accessed over plain HTTP
  std::vector<std::string> allowed;   // registries that may be at any address
  uint64_t max_bytes = uint64_t{32} << 30;
  uint64_t max_entries = 2'000'000;
};

// Information about an image.
struct ImageInfo {
  StoredImage image;
  std::vector<std::string> names;
  size_t users = 0;  // sandboxes
};

// The server's images. Thread-safe; calls block until the work is done.
//
// An image is in the catalogue only while all of it exists: it is added last and removed first. So after a crash the
// next server finds it complete or sweeps it. Concurrent requests for the same layer share the work.
class Images {
 public:
  static Result<std::unique_ptr<Images>> open(const std::string& folder, std::unique_ptr<LayerStore> layer_store,
                                              ImageRules rules);

  struct PullOrder {
    std::string reference;
    std::optional<Platform> platform;
    RegistryLogin login;
    Reach reach = Reach::Anywhere;  // for registries that no setting names
  };
  Result<ImageInfo> pull(const PullOrder& order, ImageProgress& progress);
  // The reference that would be pulled for a word; Invalid.
  Result<ImageReference> reference_of(const std::string& word) const;

  // Loads an image archive, from the descriptor's current position.
  Result<std::vector<ImageInfo>> load(int archive, ImageProgress& progress);
  // Imports a root file system as one layer.
  struct ImportOrder {
    std::string name;
    ImageConfig config;
  };
  Result<ImageInfo> import(int archive, const ImportOrder& order, ImageProgress& progress);

  // An unnamed file for an archive that will be read later.
  Result<UniqueFd> scratch_file() const { return blobs_.scratch_file(); }

  std::vector<ImageInfo> list() const;
  Result<ImageInfo> find(const std::string& word) const;
  // NAME@DIGEST of an existing image.
  Result<std::string> find_reference(const std::string& word) const;
  Result<ImageInfo> tag(const std::string& word, const std::string& name);
  // Removes the name, and the image with its last name. If sandboxes use the image, fails with Conflict or, with force,
  // leaves it without a name until it is unused.
  enum class Removal { Careful, Forced };
  struct Removed {
    std::vector<std::string> names;
    std::vector<std::string> digests;
    uint64_t bytes = 0;  // unpacked size of the removed layers
  };
  Result<Removed> remove(const std::string& word, Removal removal);
  // Removes unused images without a name, or all unused images, and leftovers of incomplete pulls.
  enum class Prune { Nameless, Unused };
  Result<Removed> prune(Prune what);
  // The problems of an image; empty if it is intact.
  Result<std::vector<std::string>> verify(const std::string& word);

  // For a sandbox: the image, and a handle that prevents its removal.
  struct Use {
    std::string reference;  // NAME@DIGEST
    ImageConfig config;
    std::vector<std::string> notes;
    std::shared_ptr<void> hold;
  };
  Result<Use> use(const std::string& word);
  // For an existing sandbox: by the reference that it was created with.
  std::shared_ptr<void> hold(const std::string& reference);
  // Called before an image's files are removed, so that pooled sandboxes release it.
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
  // A verified archive of a layer.
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

  mutable std::mutex mutex_;  // protects the catalogue and held_
  Catalogue catalogue_;
  std::map<std::string, std::weak_ptr<void>> held_;  // by digest

  std::shared_mutex layer_store_mutex_;  // exclusive: sweeping; shared: determining what must be kept
  std::mutex pins_mutex_;
  std::multiset<std::string> pinned_;  // keys and digests of images being created

  std::mutex turns_mutex_;
  std::condition_variable turn_over_;
  std::set<std::string> turns_;  // digests of layers that are being fetched or unpacked
};

}  // namespace cove
