#pragma once

#include <cstdint>
#include <string>

namespace cove {

enum class LayerKind {
  Memory,  // a tmpfs that lives and dies with the sandbox
  Folder,  // a folder on disk: a subvolume of the pool, or a plain one
};

// A writable layer as a runtime mounts it.
struct LayerMount {
  LayerKind kind = LayerKind::Memory;
  uint64_t bytes = 0;   // Memory: its size
  uint64_t inodes = 0;  // Memory: its number of inodes
  std::string folder;   // Folder: where the upper and work folders are made and found
};

}  // namespace cove
