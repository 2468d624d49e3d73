#pragma once

#include <string>
#include <string_view>

namespace cove::http1 {

// 20 bytes. For the WebSocket handshake, which asks for it; it protects nothing.
std::string sha1(std::string_view data);

}  // namespace cove::http1
