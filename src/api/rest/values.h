#pragma once

#include <string>

#include "base/result.h"
#include "base/signal_name.h"

// Words of requests that must have a certain form. Errors are Invalid, but for images.
namespace cove::api {

// [a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}
Result<std::string> check_name(std::string text);
// [a-z0-9][a-z0-9-]{0,62}
Result<std::string> check_project(std::string text);
// 1 to 128 bytes without control characters.
Result<std::string> check_agent(std::string text);
// "NAME", "UID" or "UID:GID".
Result<std::string> check_user(std::string text);
// "host" or "host@" and a fingerprint; NotFound.
Result<std::string> check_image(std::string text);
// The name of an environment variable.
bool is_variable(const std::string& name);

}  // namespace cove::api
