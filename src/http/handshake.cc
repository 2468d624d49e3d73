#include "http/handshake.h"

#include <openssl/evp.h>

#include "http/ascii.h"

namespace cove::http {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, 1.3

bool any_lists(const Request& request, std::string_view name, std::string_view word) {
  for (auto& [key, value] : request.headers)
    if (same_word(key, name) && lists_word(value, word)) return true;
  return false;
}

// 16 bytes in base64.
bool is_key(std::string_view key) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.size() == 24 && key.ends_with("==") &&
         key.substr(0, 22).find_first_not_of(kDigits) == std::string_view::npos;
}

std::string accept_of(std::string_view key) {
  std::string text = concat(key, kMagic);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  unsigned char encoded[64];
  int length = EVP_EncodeBlock(encoded, digest, static_cast<int>(size));
  return std::string(encoded, encoded + length);
}

}  // namespace

Result<std::string> check_handshake(const Request& request) {
  if (request.method != "GET" || !any_lists(request, "connection", "upgrade") ||
      !any_lists(request, "upgrade", "websocket"))
    return fail(Code::Invalid, "the request is no WebSocket handshake");
  if (request.header("sec-websocket-version").value_or("") != "13")
    return fail(Code::Unsupported, "the WebSocket version is not 13");
  std::string_view key = request.header("sec-websocket-key").value_or("");
  if (!is_key(key)) return fail(Code::Invalid, "Sec-WebSocket-Key is not 16 bytes in base64");
  return accept_of(key);
}

}  // namespace cove::http
