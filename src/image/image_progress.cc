#include "image/image_progress.h"

namespace cove {

const char* layer_state_name(LayerState state) {
  constexpr const char* kNames[] = {"waiting", "fetching", "unpacking", "done", "exists"};
  return kNames[static_cast<size_t>(state)];
}

void ImageProgress::begin(std::vector<Layer> layers) {
  std::lock_guard lock(mutex_);
  layers_ = std::move(layers);
}

void ImageProgress::add(size_t layer, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (layer < layers_.size()) layers_[layer].done += bytes;
}

void ImageProgress::restart(size_t layer, uint64_t done) {
  std::lock_guard lock(mutex_);
  if (layer < layers_.size()) layers_[layer].done = done;
}

void ImageProgress::set(size_t layer, LayerState state) {
  std::lock_guard lock(mutex_);
  if (layer >= layers_.size()) return;
  layers_[layer].state = state;
  if (state == LayerState::Done) layers_[layer].done = layers_[layer].size;
}

std::vector<ImageProgress::Layer> ImageProgress::layers() const {
  std::lock_guard lock(mutex_);
  return layers_;
}

}  // namespace cove
