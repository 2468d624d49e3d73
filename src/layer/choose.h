#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "layer/layer.h"
#include "model/limits.h"
#include "model/sandbox.h"

namespace cove {

// What a sandbox wants of its writable layer.
struct LayerWish {
  Lifetime lifetime = Lifetime::OneRun;
  Limit<uint64_t> disk = 0;    // 0: what suits the layer
  Limit<uint64_t> inodes = 0;  // 0: in proportion to disk
  uint64_t memory = 0;         // the sandbox's memory limit; 0: none
  Strictness strictness = Strictness::FallBack;
};

// What the machine offers.
struct LayerFacts {
  uint64_t machine_memory = 0;
  uint64_t free_disk = 0;      // where layers are kept
  std::string no_pool;         // why there can be no pool; empty where there can
  std::string no_pool_remedy;  // what to do about it
};

struct LayerChoice {
  LayerKind kind = LayerKind::Memory;
  uint64_t bytes = 0;
  uint64_t inodes = 0;  // Memory only
  std::string warning;  // a default that fell back to a lesser means
};

// False where the wish alone decides: the facts are not looked at then, and need not be found out.
bool needs_facts(const LayerWish& wish);

// Memory for one run: fastest, but it counts against the sandbox's memory limit. A disk limit that the caller named and
// that is more than half of this goes to the pool, as does every layer that outlives one run. Without a pool, a default
// limit is not enforced: the layer is a plain folder, and there is a warning; a named one (and, when strict, any) is
// refused.
Result<LayerChoice> choose_layer(const LayerWish& wish, const LayerFacts& facts);

// The same for a layer that exists: it stays what it was made as, whatever the machine offers now.
Result<LayerChoice> choose_again(const LayerWish& wish, LayerKind existing);

}  // namespace cove
