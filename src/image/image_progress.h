#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace cove {

enum class LayerState { Waiting, Fetching, Unpacking, Done, Shared };
const char* layer_state_name(LayerState state);  // "fetching"; Shared is "exists"

// The progress of a pull or a load. Thread-safe.
class ImageProgress {
 public:
  struct Layer {
    std::string digest;
    uint64_t size = 0;
    uint64_t done = 0;  // bytes fetched
    LayerState state = LayerState::Waiting;
  };

  void begin(std::vector<Layer> layers);
  void add(size_t layer, uint64_t bytes);
  void restart(size_t layer, uint64_t done);
  void set(size_t layer, LayerState state);
  std::vector<Layer> layers() const;

  std::atomic<bool> cancelled = false;

 private:
  mutable std::mutex mutex_;
  std::vector<Layer> layers_;
};

}  // namespace cove
