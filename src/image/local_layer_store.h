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

// What of images needs privilege: their layers, unpacked, and the roots that sandboxes are made of. In the folder:
//
//   layers/KEY/fs      a layer, as overlayfs mounts it
//   layers/KEY/info    what cove-unpack said of it
//   roots/DIGEST/…     of each image: `layers` (keys, the topmost first), `top-N` (what lies over them) and `dev`
//   tmp-…              what is being made, or removed; nobody's after a crash
//
// Whatever has its name is whole. Keys and digests are 64 hexadecimal digits. docs/formats/images.md has more.
class LocalLayerStore {
 public:
  // `programs`: the folder of cove-unpack and cove-sudo. The folder is made where it is missing.
  static Result<LocalLayerStore> open(std::string folder, std::string programs);

  Result<std::optional<unpack::Report>> find_layer(const std::string& key) const;

  // With `needs_parents` in the report of a layer that is not the lowest nothing was kept.
  Result<unpack::Report> unpack(const UnpackRequest& request, const sys::IdPlan& ids) const;
  // The digest that a layer has now; NotFound.
  Result<unpack::Report> examine(const std::string& key, const sys::IdPlan& ids) const;

  // Makes the root of an image of layers that are there, the topmost first.
  Result<void> assemble(const std::string& digest, const std::vector<std::string>& keys, const sys::IdPlan& ids) const;
  // NotFound. Whoever holds `hold` keeps it from being removed.
  Result<ImageRoot> find(const std::string& digest, UniqueFd& hold) const;

  // Removes all roots and layers that are not named, and what was left half-made. Conflict where somebody holds one of
  // them, Exists where somebody is at work on a new one; all the others are gone then. Roots made by an older version
  // of Cove get a new top.
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
