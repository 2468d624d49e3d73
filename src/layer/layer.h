#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace cove {

enum class LayerKind {
  Memory,  // a tmpfs that lives and dies with the sandbox, limited by its size
  Pool,    // a subvolume of the pool, limited by a quota group
  Folder,  // a plain folder, without a limit
};

// A writable layer as a runtime mounts it.
struct LayerMount {
  LayerKind kind = LayerKind::Memory;
  uint64_t bytes = 0;   // Memory: its size
  uint64_t inodes = 0;  // Memory: its number of inodes
  std::string folder;   // Folder: where the upper and work folders are made and found
  int mount = -1;       // Pool: the same as a detached mount that can be attached once; the Layer owns the descriptor
};

// Owns a writable layer: its end removes the layer, unless it was told to keep it.
//
//   std::unique_ptr<Layer> layer = COVE_TRY(make_layer(choice, id, Lifetime::OneRun));
//   … mount layer->mount(), run, end everything that used it …
//   COVE_TRY(layer->remove());
//
// `remove` goes by descriptors that were opened early: it works in a forked child, too, whatever root that has.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual LayerMount mount() const = 0;
  // Bytes that lie in it. Unsupported for Memory: whoever has it mounted knows.
  virtual Result<uint64_t> usage() const = 0;
  // Pool: where anybody can read that (sys::btrfs::quota_used). Empty for the others.
  virtual std::string usage_folder() const { return {}; }
  // Nothing that uses it may be left. Does nothing the second time.
  virtual Result<void> remove() = 0;
  // From now on it outlives this object, and the process.
  virtual void keep() = 0;
};

}  // namespace cove
