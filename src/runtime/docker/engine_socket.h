#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::docker {

// Looks up an environment variable; empty if it is not set.
using Variable = std::function<std::string(const char*)>;
std::string variable(const char* name);

// The sockets where an engine may listen, in order of preference: only the one that DOCKER_HOST (for podman:
// CONTAINER_HOST) names, otherwise the usual ones. `runtime`: "docker", which is any engine, or "podman". Unsupported
// if the variable names an engine on another machine.
Result<std::vector<std::string>> engine_sockets(const std::string& runtime, const Variable& variable);

// What was found when no engine can be reached.
struct NoEngine {
  std::vector<std::string> paths;  // where no engine is listening
  std::string variable;            // the variable that names the path; empty: the usual paths
  std::string denied;              // the socket to which this user may not connect; empty: none
  std::string group;               // whose members may connect; empty: only the owner
  bool docker_installed = false;
  bool podman_installed = false;
  bool root = false;
};
// Describes it as an error with a hint: Denied or Unavailable.
Error describe(const std::string& runtime, const NoEngine& found);

// The first socket where an engine is listening; otherwise the error from `describe`.
Result<std::string> find_engine_socket(const std::string& runtime);

}  // namespace cove::docker
