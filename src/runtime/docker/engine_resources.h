#pragma once

#include "runtime/docker/container_order.h"
#include "runtime/docker/own_containers.h"
#include "runtime/native/local_resources.h"

namespace cove::docker {

// The resources of a sandbox in an engine's container. Its programs are limited and accounted by a control group of
// Cove below the container's, if Cove can create one; the container itself belongs to the engine.
class EngineResources : public native::LocalResources {
 public:
  EngineResources(Parts parts, OwnContainers containers)
      : LocalResources(std::move(parts)), containers_(std::move(containers)), id_(spec().id) {}

  Result<void> set_limits(const Limits& limits) override;
  Result<void> destroy(Files files) override;
  bool waits_for_others() const override { return true; }

 private:
  OwnContainers containers_;
  std::string id_;
};

}  // namespace cove::docker
