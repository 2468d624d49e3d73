#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "unpack/protocol.h"

namespace cove {

// A layer to be unpacked. Keys are 64 hexadecimal digits.
struct UnpackRequest {
  std::string key;
  std::string dependent_key;         // for the lowest layer, where it turns out to depend on being that
  std::vector<std::string> parents;  // keys, the topmost first
  int archive = -1;
  bool lowest = false;
  uint64_t max_bytes = 0;
  uint64_t max_entries = 0;
};

// What of images needs privilege: their layers, unpacked, and the roots that sandboxes are made of.
// native::LocalLayerStore does it; the server has it done by cove-spawn. Thread-safe.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  // Of each key what is known about the layer, if it is there.
  virtual Result<std::vector<std::optional<unpack::Report>>> find(const std::vector<std::string>& keys) = 0;
  // With `needs_parents` in the report of a layer that is not the lowest nothing was kept.
  virtual Result<unpack::Report> unpack(const UnpackRequest& request) = 0;
  // What a layer is like now.
  virtual Result<unpack::Report> examine(const std::string& key) = 0;
  // Makes the root of an image: of its digest's digits, and keys, the topmost first.
  virtual Result<void> assemble(const std::string& digest, const std::vector<std::string>& keys) = 0;
  // Removes all roots and layers but these, and what was left half-made. Conflict where somebody uses one of them,
  // Exists where somebody is at work on a new one; all the others are gone then.
  virtual Result<void> sweep(const std::vector<std::string>& digests, const std::vector<std::string>& keys) = 0;
};

}  // namespace cove
