#pragma once

#include <optional>
#include <string>

#include "api/rest/problem.h"
#include "http/exchange.h"

// If-Match and If-None-Match (RFC 9110, section 13). `tag` is that of what is there now, in quotes; nothing: there is
// nothing.
namespace cove::api {

// For changes: 412 where the caller wants them only of another state than the present one.
Outcome check_unchanged(const http::Request& request, const std::optional<std::string>& tag);

// For reading: true where the caller has it already, and is to be answered 304; 412 as above.
Checked<bool> is_known(const http::Request& request, const std::string& tag);

// Whether the request has such a condition.
bool is_conditional(const http::Request& request);

}  // namespace cove::api
