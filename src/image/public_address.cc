#include "image/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/text.h"

namespace cove {
namespace {

struct Network {
  uint32_t address;
  int bits;
};
// RFC 6890 and its successors, except networks for documentation and tests. The metadata services of other clouds have
// addresses in these networks: link-local, shared (100.100.100.200), special (192.0.0.192).
constexpr Network kNotPublic[] = {
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // shared, for carrier-grade NAT
    {0x7f000000, 8},   // loopback
    {0xa83f8110, 32},  // Azure's wire server, with the machine's settings
    {0xa9fe0000, 16},  // link-local, with the metadata of clouds
    {0xac100000, 12},  // private
    {0xc0000000, 24},  // special purposes
    {0xc0a80000, 16},  // private
    {0xc6120000, 15},  // measurements
    {0xe0000000, 3},   // multicast and reserved
};

bool is_public_v4(uint32_t address) {
  return std::ranges::none_of(
      kNotPublic, [&](const Network& network) { return (address ^ network.address) >> (32 - network.bits) == 0; });
}

uint32_t embedded_v4(const in6_addr& address, size_t offset) {
  uint32_t four = 0;
  std::memcpy(&four, address.s6_addr + offset, sizeof four);
  return ntohl(four);
}

bool begins_with(const in6_addr& address, std::string_view bytes) {
  return std::memcmp(address.s6_addr, bytes.data(), bytes.size()) == 0;
}

bool is_public_v6(const in6_addr& address) {
  using namespace std::string_view_literals;
  constexpr std::string_view kTranslated = "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0"sv;
  constexpr size_t kLast = 12;
  if (IN6_IS_ADDR_V4MAPPED(&address) || begins_with(address, kTranslated))
    return is_public_v4(embedded_v4(address, kLast));
  if (begins_with(address, "\x20\x02"sv)) return is_public_v4(embedded_v4(address, 2));  // 6to4
  return (address.s6_addr[0] & 0xe0) == 0x20;                                            // only 2000::/3 is assigned
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET)
    return is_public_v4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  if (address.sa_family == AF_INET6) return is_public_v6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  return false;
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
