#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "client/json.h"
#include "http1/response.h"

namespace cove::client {

using http1::ResponseHead;

// What a refusal says: a problem document (RFC 9457), or what else came with that status.
Error read_problem(const ResponseHead& head, std::string_view document);
// {detail, code, hint}, with the status as a last resort.
Error read_problem(const Json& problem, int status);

}  // namespace cove::client
