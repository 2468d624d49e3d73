#pragma once

#include <memory>
#include <string>

#include "runtime/native/native_runtime.h"
#include "runtime/runtime.h"

namespace cove::docker {

// Whether the engine of that runtime ("docker" or "podman") can be used, and which it is.
RuntimeFact examine(const std::string& runtime);

// Sandboxes in containers of a Docker or Podman engine, made by this very process. `runtime`: "docker" or "podman";
// `state`: the state folder, by which it knows its own containers.
std::unique_ptr<Runtime> make_engine_runtime(const std::string& runtime, native::Places places,
                                             const std::string& state);

}  // namespace cove::docker
