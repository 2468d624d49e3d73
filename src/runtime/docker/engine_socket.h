#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::docker {

// A variable of the environment; empty where it is not set.
using Variable = std::function<std::string(const char*)>;
std::string variable(const char* name);

// The sockets at which an engine may listen, the first choice first: the one that DOCKER_HOST (for podman: CONTAINER_HOST)
// names and no other, or else the usual ones. `runtime`: "docker", which is any engine, or "podman". Unsupported where it
// names an engine that is not on this machine.
Result<std::vector<std::string>> engine_sockets(const std::string& runtime, const Variable& variable);

// The first at which somebody listens. Unavailable, with what to do, where there is none.
Result<std::string> find_engine_socket(const std::string& runtime);

}  // namespace cove::docker
