#pragma once

#include <string>

#include "base/result.h"
#include "runtime/docker/engine.h"
#include "runtime/docker/engine_factory.h"

namespace cove::docker {

// Waits until process 1 of the container connects, passes it its descriptors, and waits until it is ready. Returns
// whether it found Landlock. No program of the sandbox runs before that.
enum class SecondFence { Up, Missing };
Result<SecondFence> hand_over_descriptors(const PendingContainer& pending, const Engine& engine,
                                          const std::string& container);

}  // namespace cove::docker
