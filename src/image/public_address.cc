#include "image/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "net/address.h"

namespace cove {
namespace {

std::optional<net::Address> address_of(const sockaddr& address) {
  net::Address value;
  if (address.sa_family == AF_INET) {
    value.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::memcpy(value.bytes.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
    return value;
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  std::memcpy(value.bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, value.bytes.size());
  return value;
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  const std::optional<net::Address> value = address_of(address);
  return value && net::is_public(*value);
}

std::string address_text(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.sa_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    return concat(std::string_view(text), ":", ntohs(four.sin_port));
  }
  if (address.sa_family != AF_INET6) return "a non-IP address";
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  return concat("[", std::string_view(text), "]:", ntohs(six.sin6_port));
}

}  // namespace cove
