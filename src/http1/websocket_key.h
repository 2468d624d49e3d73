#pragma once

#include <string>
#include <string_view>

// The keys of WebSocket handshakes: RFC 6455, 4.
namespace cove::http1 {

// For Sec-WebSocket-Key: 16 random bytes in base64.
std::string random_key();
bool is_key(std::string_view text);
// What Sec-WebSocket-Accept answers to a key: base64 of SHA-1 over it and a fixed text.
std::string accept_of_key(std::string_view key);

}  // namespace cove::http1
