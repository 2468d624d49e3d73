#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "layer/choose.h"
#include "layer/layer.h"

namespace cove {

// Examines the machine without changing anything.
LayerFacts find_layer_facts(const std::string& state);
// The same if a pool is known to be possible.
LayerFacts measure_layer_facts(const std::string& state);

class Pool;

// All layers in a state folder. Opens the pool when it is first needed and keeps it open, as does each layer; other
// processes may use it at the same time. Not thread-safe.
class Layers {
 public:
  explicit Layers(std::string state) : state_(std::move(state)) {}

  // Creates a layer of the chosen kind.
  Result<std::unique_ptr<Layer>> make(const LayerChoice& choice, const std::string& id, Lifetime lifetime);
  // Opens a layer that this or another process created with Lifetime::Long and kept.
  Result<std::unique_ptr<Layer>> find(const std::string& id);
  // Changes the size limit of a kept layer in the pool. Conflict if it contains more already.
  Result<void> limit(const std::string& id, uint64_t bytes);
  // The ids of all layers with Lifetime::Long.
  Result<std::vector<std::string>> list_long();
  // Removes a kept layer, which must not be in use; NotFound. The caller must own the files in a folder: without root,
  // this is called as the owner of all the sandbox's ids.
  Result<void> remove(const std::string& id);

  // Must be called a few times per second while long-lived layers are written to: Pool::maintain of an open pool.
  Result<void> maintain();
  bool pool_open() const { return pool_ != nullptr; }

 private:
  // Whether there is a pool; opens it.
  Result<bool> find_pool();

  std::string state_;
  std::shared_ptr<Pool> pool_;
};

// For a process with a single layer.
Result<std::unique_ptr<Layer>> make_layer(const LayerChoice& choice, const std::string& state, const std::string& id,
                                          Lifetime lifetime);
Result<std::unique_ptr<Layer>> find_layer(const std::string& state, const std::string& id);

}  // namespace cove
