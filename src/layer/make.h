#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "layer/choose.h"
#include "layer/layer.h"

namespace cove {

// Looks at the machine; nothing is made.
LayerFacts find_layer_facts(const std::string& state);
// The same where it is known that a pool is possible.
LayerFacts measure_layer_facts(const std::string& state);

class Pool;

// All layers in a state folder. It opens the pool when it is first needed, and keeps it open: other processes may use
// it meanwhile, and each layer keeps it open as well. Not thread-safe.
class Layers {
 public:
  explicit Layers(std::string state) : state_(std::move(state)) {}

  // A new layer, as chosen.
  Result<std::unique_ptr<Layer>> make(const LayerChoice& choice, const std::string& id, Lifetime lifetime);
  // A layer that was made with Lifetime::Long and kept, by this process or another.
  Result<std::unique_ptr<Layer>> find(const std::string& id);
  // Changes how far a layer of the pool that `find` finds can be filled. Conflict where it holds more already.
  Result<void> limit(const std::string& id, uint64_t bytes);
  // The ids of all layers that were made with Lifetime::Long.
  Result<std::vector<std::string>> list_long();
  // Removes a layer that `find` would find; NotFound where there is none. Nothing that uses it may be left. The files
  // in a folder have to be the caller's own: without root, this is called as the owner of all the sandbox's ids.
  Result<void> remove(const std::string& id);

  // To be called a few times a second while long-lived layers are written to: Pool::tend of a pool that is open.
  Result<void> maintain();
  bool pool_open() const { return pool_ != nullptr; }

 private:
  // Whether there is a pool, which is open then.
  Result<bool> find_pool();

  std::string state_;
  std::shared_ptr<Pool> pool_;
};

// For a process with a single layer: the same with Layers of its own.
Result<std::unique_ptr<Layer>> make_layer(const LayerChoice& choice, const std::string& state, const std::string& id,
                                          Lifetime lifetime);
Result<std::unique_ptr<Layer>> find_layer(const std::string& state, const std::string& id);

}  // namespace cove
