// Packets to a sandbox: whatever the addresses, ports and bytes, their lengths and checksums are right.
#include <cstdint>
#include <string>

#include "messages.h"
#include "net/gateway/packet.h"

namespace {

using namespace cove::net;
using cove::fuzz::require;

size_t two(std::string_view bytes, size_t at) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[at])) << 8 | static_cast<uint8_t>(bytes[at + 1]);
}

uint32_t sum(std::string_view bytes) {
  uint32_t total = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) total += static_cast<uint32_t>(two(bytes, i));
  return total;
}

// The checksum of what the packet carries, with the pseudo header.
void check(std::string_view packet, bool pseudo) {
  const bool v4 = (packet[0] & 0xf0) == 0x40;
  const size_t header = v4 ? 20 : 40;
  require(packet.size() >= header && two(packet, v4 ? 2 : 4) == packet.size() - (v4 ? 0 : header));
  if (v4) require(checksum(packet.substr(0, header)) == 0);
  std::string_view carried = packet.substr(header);
  uint32_t begin = 0;
  if (pseudo)
    begin = sum(packet.substr(v4 ? 12 : 8, v4 ? 8 : 32)) + static_cast<uint8_t>(packet[v4 ? 9 : 6]) +
            static_cast<uint32_t>(carried.size());
  require(checksum(carried, begin) == 0);
}

Endpoint take_endpoint(std::string_view& input, bool v4) {
  Endpoint endpoint;
  for (size_t i = 0; i < 16; ++i) endpoint.address.bytes[i] = static_cast<uint8_t>(input[i]);
  if (v4)
    for (size_t i = 0; i < 12; ++i) endpoint.address.bytes[i] = i < 10 ? 0 : 0xff;
  endpoint.port = static_cast<uint16_t>(two(input, 16));
  input.remove_prefix(18);
  return endpoint;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 37) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool v4 = data[0] & 1;
  Endpoint from = take_endpoint(input, v4), to = take_endpoint(input, v4);
  if (from.address.is_v4() != to.address.is_v4()) return 0;
  std::string datagram = udp_packet(from, to, input);
  require(!datagram.empty());
  require(datagram.ends_with(input));
  check(datagram, true);
  std::string refusal = port_unreachable_packet(from, to, input);
  require(refusal.size() <= 1280);
  check(refusal, !from.address.is_v4());
  return 0;
}
