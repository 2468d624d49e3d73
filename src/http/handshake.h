#pragma once

#include <string>

#include "http/exchange.h"

namespace cove::http {

// The value of Sec-WebSocket-Accept for a request that asks for a WebSocket. Invalid where it does not, Unsupported
// where it wants another version than 13.
Result<std::string> check_handshake(const Request& request);

}  // namespace cove::http
