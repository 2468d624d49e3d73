#pragma once

#include <memory>
#include <string>

#include "layer/layer.h"
#include "layer/pool.h"

namespace cove {

// A subvolume of the pool.
class PoolLayer : public Layer {
 public:
  // `folder` is the subvolume, `parent` the folder that contains it; `mount` a detached mount of it.
  PoolLayer(std::shared_ptr<Pool> pool, Lifetime lifetime, std::string id, UniqueFd folder, UniqueFd mount)
      : pool_(std::move(pool)),
        lifetime_(lifetime),
        id_(std::move(id)),
        folder_(std::move(folder)),
        mount_(std::move(mount)) {}
  ~PoolLayer() override;

  LayerMount mount() const override;
  Result<uint64_t> usage() const override;
  std::string usage_folder() const override;
  Result<void> remove() override;
  void keep() override { kept_ = true; }

 private:
  std::shared_ptr<Pool> pool_;
  Lifetime lifetime_;
  std::string id_;
  UniqueFd folder_;  // holds the flock that marks the layer as owned
  UniqueFd mount_;
  bool kept_ = false;
};

}  // namespace cove
