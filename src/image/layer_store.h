#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "unpack/protocol.h"

namespace cove {

// A layer to unpack. Keys are 64 hexadecimal digits.
struct UnpackRequest {
  std::string key;
  std::string dependent_key;         // for the lowest layer, if its content depends on being the lowest
  std::vector<std::string> parents;  // keys, the topmost first
  int archive = -1;
  bool lowest = false;
  uint64_t max_bytes = 0;
  uint64_t max_entries = 0;
};

// The parts of images that need privilege: their unpacked layers, and the roots of sandboxes. Implemented by
// LocalLayerStore; the server uses cove-spawn for it. Thread-safe.
class LayerStore {
 public:
  virtual ~LayerStore() = default;
  // The report of each layer, if it exists.
  virtual Result<std::vector<std::optional<unpack::Report>>> find(const std::vector<std::string>& keys) = 0;
  // If the report of a layer that is not the lowest has `needs_parents`, nothing was kept.
  virtual Result<unpack::Report> unpack(const UnpackRequest& request) = 0;
  // Reads the current state of a layer.
  virtual Result<unpack::Report> examine(const std::string& key) = 0;
  // Creates the root of an image from its digest's digits and its layers' keys, the topmost first.
  virtual Result<void> assemble(const std::string& digest, const std::vector<std::string>& keys) = 0;
  // Removes all roots and layers except these, and incomplete ones. Conflict if one of them is in use, Exists if a new
  // one is being created; all others are removed then.
  virtual Result<void> sweep(const std::vector<std::string>& digests, const std::vector<std::string>& keys) = 0;
};

}  // namespace cove
