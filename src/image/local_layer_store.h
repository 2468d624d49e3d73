#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "image/host_image.h"
#include "image/layer_store.h"
#include "sys/ids.h"
#include "unpack/protocol.h"

namespace cove {

// The parts of images that need privilege: their unpacked layers, and the roots of sandboxes. In the folder:
//
//   layers/KEY/fs      a layer, as overlayfs mounts it
//   layers/KEY/info    the report of cove-unpack
//   roots/DIGEST/…     for each image: `layers` (keys, the topmost first), `top-N` (the layer on top of them) and `dev`
//   tmp-…              being created or removed; unused after a crash
//
// Folders with these names are complete. Keys and digests are 64 hexadecimal digits. docs/formats/images.md has more.
class LocalLayerStore {
 public:
  // `programs`: the folder of cove-unpack and cove-sudo. The store's folder is created if it is missing.
  static Result<LocalLayerStore> open(std::string folder, std::string programs);

  Result<std::optional<unpack::Report>> find_layer(const std::string& key) const;

  // If the report of a layer that is not the lowest has `needs_parents`, nothing was kept.
  Result<unpack::Report> unpack(const UnpackRequest& request, const sys::IdPlan& ids) const;
  // The current digest of a layer; NotFound.
  Result<unpack::Report> examine(const std::string& key, const sys::IdPlan& ids) const;

  // Creates the root of an image from existing layers, the topmost first.
  Result<void> assemble(const std::string& digest, const std::vector<std::string>& keys, const sys::IdPlan& ids) const;
  // NotFound. While `hold` is open, it is not removed.
  Result<ImageRoot> find(const std::string& digest, UniqueFd& hold) const;

  // Removes all roots and layers that are not named, and incomplete ones. Conflict if one of them is held, Exists if a
  // new one is being created; all others are removed then. Roots of an older version of Cove get a new top layer.
  Result<void> sweep(const std::set<std::string>& roots, const std::set<std::string>& layers,
                     const sys::IdPlan& ids) const;

 private:
  LocalLayerStore(std::string folder, std::string programs)
      : folder_(std::move(folder)), programs_(std::move(programs)) {}
  std::string layer_path(const std::string& key) const;
  std::string root_path(const std::string& digest) const;
  Result<void> make_top(const std::string& path, const std::vector<std::string>& keys, const sys::IdPlan& ids) const;
  Result<void> renew_top(const std::string& digest, const sys::IdPlan& ids) const;
  Result<void> publish(const std::string& half_made, const std::string& key, const unpack::Report& report) const;
  Result<void> remove_aside(const std::string& path, const sys::IdPlan& ids) const;

  std::string folder_;
  std::string programs_;
};

}  // namespace cove
