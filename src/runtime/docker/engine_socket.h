#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::docker {

// A variable of the environment; empty where it is not set.
using Variable = std::function<std::string(const char*)>;
std::string variable(const char* name);

// The sockets at which an engine may listen, the first choice first: the one that DOCKER_HOST (for podman:
// CONTAINER_HOST) names and no other, or else the usual ones. `runtime`: "docker", which is any engine, or "podman".
// Unsupported where it names an engine that is not on this machine.
Result<std::vector<std::string>> engine_sockets(const std::string& runtime, const Variable& variable);

// What was found of engines where none can be reached.
struct NoEngine {
  std::vector<std::string> paths;  // at which none listens
  std::string variable;            // that names the path; empty: they are the usual ones
  std::string denied;              // at which this user may not connect; empty: nowhere
  std::string group;               // whose members may; empty: nobody's but the owner
  bool docker_installed = false;
  bool podman_installed = false;
  bool root = false;
};
// That in words, with what to do: Denied or Unavailable.
Error describe(const std::string& runtime, const NoEngine& found);

// The first at which somebody listens; else the error that `describe` makes.
Result<std::string> find_engine_socket(const std::string& runtime);

}  // namespace cove::docker
