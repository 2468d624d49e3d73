#pragma once

#include "api/call.h"

namespace cove::api {

// Whether a request for an exec is for code in a context, which is no exec of its own.
bool names_context(const Json& body);
// Answers it: with the result, or with a stream that ends with it.
Outcome run_in_context(Call& call, const Json& body);

}  // namespace cove::api
