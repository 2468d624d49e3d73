#include "http/handshake.h"

#include "http1/websocket_key.h"

namespace cove::http {

Result<std::string> check_handshake(const Request& request) {
  if (request.method != "GET" || !http1::any_lists_word(request.headers, "connection", "upgrade") ||
      !http1::any_lists_word(request.headers, "upgrade", "websocket"))
    return fail(Code::Invalid, "the request is no WebSocket handshake");
  if (request.header("sec-websocket-version").value_or("") != "13")
    return fail(Code::Unsupported, "the WebSocket version is not 13");
  std::string_view key = request.header("sec-websocket-key").value_or("");
  if (!http1::is_key(key)) return fail(Code::Invalid, "Sec-WebSocket-Key is not 16 bytes in base64");
  return http1::accept_of_key(key);
}

}  // namespace cove::http
