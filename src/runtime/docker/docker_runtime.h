#pragma once

#include <memory>
#include <string>

#include "runtime/native/native_runtime.h"
#include "runtime/runtime.h"

namespace cove::docker {

// Examines the engine of that runtime ("docker" or "podman"): whether it can be used, and its version.
RuntimeFact examine(const std::string& runtime);

// Creates sandboxes in containers of a Docker or Podman engine from this process. `runtime`: "docker" or "podman";
// `state`: the state folder, by which it recognizes its own containers.
std::unique_ptr<Runtime> make_engine_runtime(const std::string& runtime, native::Places places,
                                             const std::string& state);

}  // namespace cove::docker
