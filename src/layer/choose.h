#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "layer/layer.h"
#include "model/limits.h"
#include "model/sandbox.h"

namespace cove {

// The requirements for a writable layer.
struct LayerWish {
  Lifetime lifetime = Lifetime::OneRun;
  Limit<uint64_t> disk = 0;    // 0: depends on the kind of layer
  Limit<uint64_t> inodes = 0;  // 0: in proportion to disk
  uint64_t memory = 0;         // the sandbox's memory limit; 0: none
  Strictness strictness = Strictness::FallBack;
};

// What the machine supports.
struct LayerFacts {
  uint64_t machine_memory = 0;
  uint64_t free_disk = 0;      // on the disk of the layers
  std::string no_pool;         // why a pool is not available; empty if it is
  std::string no_pool_remedy;  // how to make it available
};

struct LayerChoice {
  LayerKind kind = LayerKind::Memory;
  uint64_t bytes = 0;
  uint64_t inodes = 0;  // Memory only
  std::string warning;  // about a default that fell back
};

// False if the requirements alone decide, so that the facts need not be determined.
bool needs_facts(const LayerWish& wish);

// A single run uses memory, which is fastest but counts towards the sandbox's memory limit. A named disk limit above
// half of the memory limit uses the pool, as does every layer that outlives one run. Without a pool, the layer is a
// plain folder: a default limit is not enforced, with a warning; a named one (and, if strict, any) is refused.
Result<LayerChoice> choose_layer(const LayerWish& wish, const LayerFacts& facts);

// The same for an existing layer, which keeps its kind independent of what the machine supports now.
Result<LayerChoice> choose_again(const LayerWish& wish, LayerKind existing);

}  // namespace cove
