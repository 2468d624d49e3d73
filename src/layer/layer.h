#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace cove {

enum class LayerKind {
  Memory,  // a tmpfs that exists only as long as the sandbox, limited by its size
  Pool,    // a subvolume of the pool, limited by a quota group
  Folder,  // a plain folder, without a limit
};

// How a runtime mounts a writable layer.
struct LayerMount {
  LayerKind kind = LayerKind::Memory;
  uint64_t bytes = 0;   // Memory: its size
  uint64_t inodes = 0;  // Memory: its number of inodes
  std::string folder;   // Folder: contains the upper and work folders
  int mount = -1;       // Pool: the same as a detached mount that can be attached once; the Layer owns the descriptor
};

// Owns a writable layer: destroying it removes the layer unless `keep` was called.
//
//   std::unique_ptr<Layer> layer = COVE_TRY(make_layer(choice, id, Lifetime::OneRun));
//   … mount layer->mount(), run, end everything that used it …
//   COVE_TRY(layer->remove());
//
// `remove` uses descriptors that were opened early, so it also works in a forked child with another root.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual LayerMount mount() const = 0;
  // Bytes in the layer. Unsupported for Memory, which is measured where it is mounted.
  virtual Result<uint64_t> usage() const = 0;
  // Pool: the folder in which every user can read that (sys::btrfs::quota_used). Empty for the others.
  virtual std::string usage_folder() const { return {}; }
  // The layer must not be in use any more. A second call does nothing.
  virtual Result<void> remove() = 0;
  // From now on the layer outlives this object and the process.
  virtual void keep() = 0;
};

}  // namespace cove
