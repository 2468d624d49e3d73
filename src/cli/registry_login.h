#pragma once

#include <string>

#include "base/result.h"
#include "client/json.h"

namespace cove::cli {

// What `docker login` or `podman login` has left of a login at a registry, as the API takes it: {username, password} or
// {username, token}; null where there is none. The first of these files that knows the registry counts:
// $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json (~/.docker/config.json), $XDG_RUNTIME_DIR/containers/auth.json.
// Unsupported where a helper program keeps it.
Result<Json> find_registry_login(const std::string& registry);

// Of one such file's text.
Result<Json> login_in(std::string_view text, const std::string& registry, const std::string& file);

}  // namespace cove::cli
