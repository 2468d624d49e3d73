#pragma once

#include <string>

#include "base/result.h"
#include "client/json.h"

namespace cove::cli {

// The credentials that `docker login` or `podman login` stored for a registry, in the API's form: {username, password}
// or {username, token}; null if there are none. The first of these files that has an entry for the registry counts:
// $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json (~/.docker/config.json), $XDG_RUNTIME_DIR/containers/auth.json.
// Unsupported if a credential helper keeps them.
Result<Json> find_registry_login(const std::string& registry);

// The same from the text of one such file.
Result<Json> login_in(std::string_view text, const std::string& registry, const std::string& file);

}  // namespace cove::cli
