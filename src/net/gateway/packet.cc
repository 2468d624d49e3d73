#include "net/gateway/packet.h"

#include <netinet/in.h>

namespace cove::net {
namespace {

constexpr size_t kHeader4 = 20;
constexpr size_t kHeader6 = 40;
constexpr size_t kUdpHeader = 8;
constexpr size_t kChecksumOfUdp = 6;
constexpr size_t kChecksumOfIcmp = 2;
constexpr char kHops = 64;
constexpr size_t kMostQuoted4 = 548 - kHeader4;  // RFC 1812: as much as leaves an ICMP message at 576 bytes
constexpr size_t kMostQuoted6 = 1232 - kHeader6;

void put_two(std::string& out, size_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value);
}
void set_two(std::string& out, size_t at, uint16_t value) {
  out[at] = static_cast<char>(value >> 8);
  out[at + 1] = static_cast<char>(value);
}

std::string_view bytes_of(const Address& address) {
  std::string_view all(reinterpret_cast<const char*>(address.bytes.data()), address.bytes.size());
  return address.is_v4() ? all.substr(12) : all;
}

uint32_t sum_of(std::string_view bytes, uint32_t sum) {
  for (size_t i = 0; i < bytes.size(); ++i)
    sum += static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << (i % 2 == 0 ? 8 : 0);
  return sum;
}

// With what the checksums of UDP and ICMPv6 begin.
uint32_t pseudo_header(const Address& from, const Address& to, int protocol, size_t size) {
  uint32_t sum = sum_of(bytes_of(to), sum_of(bytes_of(from), 0));
  return sum + static_cast<uint32_t>(protocol) + static_cast<uint32_t>(size);
}

std::string ip_header(const Address& from, const Address& to, int protocol, size_t size) {
  std::string out;
  if (from.is_v4()) {
    out += "\x45";
    out += '\0';
    put_two(out, kHeader4 + size);
    put_two(out, 0);  // its number, which the kernel chooses
    put_two(out, 0);  // may be cut into fragments
    out += kHops;
    out += static_cast<char>(protocol);
    put_two(out, 0);
  } else {
    out += "\x60";
    out.append(3, '\0');
    put_two(out, size);
    out += static_cast<char>(protocol);
    out += kHops;
  }
  out += bytes_of(from);
  out += bytes_of(to);
  if (from.is_v4()) set_two(out, 10, checksum(out));
  return out;
}

std::string udp_datagram(const Endpoint& from, const Endpoint& to, std::string_view payload) {
  std::string out;
  const size_t size = kUdpHeader + payload.size();
  put_two(out, from.port);
  put_two(out, to.port);
  put_two(out, size);
  put_two(out, 0);
  out += payload;
  uint16_t sum = checksum(out, pseudo_header(from.address, to.address, IPPROTO_UDP, size));
  set_two(out, kChecksumOfUdp, sum == 0 ? 0xffff : sum);  // zero says that there is none
  return out;
}

}  // namespace

uint16_t checksum(std::string_view bytes, uint32_t sum) {
  sum = sum_of(bytes, sum);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

std::string udp_packet(const Endpoint& from, const Endpoint& to, std::string_view payload) {
  bool v4 = from.address.is_v4();
  if (v4 != to.address.is_v4() || payload.size() > (v4 ? kMostUdp4 : kMostUdp6)) return {};
  return ip_header(from.address, to.address, IPPROTO_UDP, kUdpHeader + payload.size()) +
         udp_datagram(from, to, payload);
}

std::string port_unreachable_packet(const Endpoint& from, const Endpoint& to, std::string_view payload) {
  const std::string refused = udp_packet(from, to, payload);
  if (refused.empty()) return {};
  const bool v4 = from.address.is_v4();
  std::string message = v4 ? std::string("\x03\x03", 2) : std::string("\x01\x04", 2);
  message.append(6, '\0');
  message += refused.substr(0, (v4 ? kHeader4 + kMostQuoted4 : kHeader6 + kMostQuoted6));
  const int protocol = v4 ? int{IPPROTO_ICMP} : int{IPPROTO_ICMPV6};
  uint32_t begin = v4 ? 0 : pseudo_header(to.address, from.address, protocol, message.size());
  set_two(message, kChecksumOfIcmp, checksum(message, begin));
  return ip_header(to.address, from.address, protocol, message.size()) + message;
}

}  // namespace cove::net
