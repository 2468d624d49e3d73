#include "net/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::net {
namespace {

constexpr size_t kV4Offset = 12;
constexpr int kV4Bits = 96;
constexpr std::array<uint8_t, kV4Offset> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Special {
  uint32_t network;
  SpecialNetwork value;
};
// RFC 6890 and its successors, but for networks for documentation. Metadata services of clouds are in these, too:
// link-local, shared (100.100.100.200), special (192.0.0.192).
constexpr Special kSpecial4[] = {
    {0x00000000, {"unspecified", kV4Bits + 8}}, {0x0a000000, {"private", kV4Bits + 8}},
    {0x64400000, {"shared", kV4Bits + 10}},     {0x7f000000, {"loopback", kV4Bits + 8}},
    {0xa83f8110, {"metadata", kV4Bits + 32}},  // Azure's wire server, with the machine's settings
    {0xa9fe0000, {"link-local", kV4Bits + 16}}, {0xac100000, {"private", kV4Bits + 12}},
    {0xc0000000, {"reserved", kV4Bits + 24}},   {0xc0586300, {"reserved", kV4Bits + 24}},
    {0xc0a80000, {"private", kV4Bits + 16}},    {0xc6120000, {"reserved", kV4Bits + 15}},
    {0xe0000000, {"multicast", kV4Bits + 4}},   {0xf0000000, {"reserved", kV4Bits + 4}},
};

struct Special6 {
  const char* network;
  SpecialNetwork value;
};
// Within 2000::/3, and outside of it where the kind is worth its name.
constexpr Special6 kSpecial6[] = {
    {"::", {"unspecified", 128}},   {"::1", {"loopback", 128}},   {"::", {"reserved", 96}},
    {"fe80::", {"link-local", 10}}, {"fc00::", {"private", 7}},   {"ff00::", {"multicast", 8}},
    {"2001::", {"Teredo", 32}},     {"2001::", {"reserved", 23}}, {"2002::", {"6to4", 16}},
    {"64:ff9b:1::", {"NAT64", 48}},
};
constexpr int kUnicastBits = 3;  // of 2000::/3
constexpr SpecialNetwork kUnassigned = {"reserved", 8};

uint32_t last_four(const Address& address) {
  uint32_t four = 0;
  std::memcpy(&four, address.bytes.data() + kV4Offset, sizeof four);
  return ntohl(four);
}

const SpecialNetwork* special_v4(uint32_t four) {
  auto found = std::ranges::find_if(
      kSpecial4, [&](const Special& special) { return (four ^ special.network) >> (128 - special.value.bits) == 0; });
  return found == std::end(kSpecial4) ? nullptr : &found->value;
}

Address six(const char* text) {
  Address address;
  ::inet_pton(AF_INET6, text, address.bytes.data());
  return address;
}

bool is_number(std::string_view part) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (part.starts_with("0x") || part.starts_with("0X"))
    return std::ranges::all_of(part.substr(2), [](char c) { return hex_digit(c) >= 0; });
  return !part.empty() && std::ranges::all_of(part, digit);
}

}  // namespace

bool Address::is_v4() const { return std::equal(kMapped.begin(), kMapped.end(), bytes.begin()); }

Result<Address> parse_address(std::string_view text) {
  Address address;
  const std::string terminated(text.substr(0, INET6_ADDRSTRLEN));
  const bool whole = terminated.size() == text.size() && !text.contains('\0');
  if (whole && ::inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
  std::ranges::copy(kMapped, address.bytes.begin());
  if (whole && ::inet_pton(AF_INET, terminated.c_str(), address.bytes.data() + kV4Offset) == 1) return address;
  return fail(Code::Invalid, concat("'", terminated.c_str(), "' is not an IP address"));
}

std::string to_text(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.is_v4())
    ::inet_ntop(AF_INET, address.bytes.data() + kV4Offset, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

bool looks_numeric(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return is_number(host.substr(host.rfind('.') + 1));
}

bool in_network(const Address& address, const Address& network, int bits) {
  if (address.is_v4() != network.is_v4()) return false;
  const size_t whole = static_cast<size_t>(bits) / 8;
  if (!std::equal(network.bytes.begin(), network.bytes.begin() + whole, address.bytes.begin())) return false;
  const int rest = bits % 8;
  return rest == 0 || (network.bytes[whole] ^ address.bytes[whole]) >> (8 - rest) == 0;
}

Address translated(const Address& address) {
  if (!in_network(address, six("64:ff9b::"), kV4Bits)) return address;
  Address v4 = address;
  std::ranges::copy(kMapped, v4.bytes.begin());
  return v4;
}

const SpecialNetwork* special_network(const Address& given) {
  const Address address = translated(given);
  if (address.is_v4()) return special_v4(last_four(address));
  for (const Special6& special : kSpecial6)
    if (in_network(address, six(special.network), special.value.bits)) return &special.value;
  return (address.bytes[0] & 0xe0) == 0x20 ? nullptr : &kUnassigned;
}

bool is_public(const Address& address) { return !special_network(address); }

bool is_public(const Address& network, int bits) {
  if (!is_public(network)) return false;
  if (!network.is_v4())
    return bits >= kUnicastBits && std::ranges::none_of(kSpecial6, [&](const Special6& special) {
             return in_network(six(special.network), network, bits);
           });
  return std::ranges::none_of(kSpecial4, [&](const Special& special) {
    Address address = network;
    const uint32_t four = htonl(special.network);
    std::memcpy(address.bytes.data() + kV4Offset, &four, sizeof four);
    return in_network(address, network, bits);
  });
}

}  // namespace cove::net
