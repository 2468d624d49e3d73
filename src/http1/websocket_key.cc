#include "http1/websocket_key.h"

#include <sys/random.h>

#include <cstdlib>

#include "base/encoding.h"
#include "base/text.h"
#include "http1/sha1.h"

namespace cove::http1 {
namespace {

constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, 1.3
constexpr size_t kKeyBytes = 16;

}  // namespace

std::string random_key() {
  std::string bytes(kKeyBytes, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return to_base64(bytes);
}

bool is_key(std::string_view text) {
  auto bytes = from_base64(text);
  return bytes && bytes->size() == kKeyBytes;
}

std::string accept_of_key(std::string_view key) { return to_base64(sha1(concat(key, kMagic))); }

}  // namespace cove::http1
