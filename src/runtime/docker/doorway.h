#pragma once

#include <string>

#include "base/result.h"
#include "runtime/docker/engine.h"
#include "runtime/docker/engine_factory.h"

namespace cove::docker {

// Waits until process 1 of the container has come to the door, gives it its descriptors, and waits until it stands.
// Whether it has found Landlock. Nothing of the sandbox's runs before that.
enum class SecondFence { Up, Missing };
Result<SecondFence> let_in(const PendingContainer& pending, const Engine& engine, const std::string& container);

}  // namespace cove::docker
