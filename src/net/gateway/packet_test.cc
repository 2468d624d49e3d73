#include "net/gateway/packet.h"

#include <gtest/gtest.h>

namespace cove::net {
namespace {

Endpoint at(const char* address, uint16_t port) { return {parse_address(address).value(), port}; }
size_t two(std::string_view bytes, size_t i) {
  return static_cast<size_t>(static_cast<uint8_t>(bytes[i])) << 8 | static_cast<uint8_t>(bytes[i + 1]);
}
uint32_t sum(std::string_view bytes) {
  uint32_t total = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) total += static_cast<uint32_t>(two(bytes, i));
  if (bytes.size() % 2) total += static_cast<uint32_t>(static_cast<uint8_t>(bytes.back())) << 8;
  return total;
}

TEST(Packet, ADatagramOfIPv4) {
  for (std::string payload : {"", "x", "hello", "hello!"}) {
    std::string packet = udp_packet(at("192.0.2.1", 443), at("10.0.2.100", 5000), payload);
    ASSERT_EQ(packet.size(), 28 + payload.size());
    EXPECT_EQ(packet[0], 0x45);
    EXPECT_EQ(two(packet, 2), packet.size());
    EXPECT_EQ(packet.substr(12, 8), std::string("\xc0\x00\x02\x01\x0a\x00\x02\x64", 8)) << "addresses";
    EXPECT_EQ(two(packet, 20), 443u);
    EXPECT_EQ(two(packet, 22), 5000u);
    EXPECT_EQ(two(packet, 24), 8 + payload.size());
    EXPECT_EQ(packet.substr(28), payload);
    EXPECT_EQ(checksum(packet.substr(0, 20)), 0);
    EXPECT_EQ(checksum(packet.substr(20), sum(packet.substr(12, 8)) + 17 + static_cast<uint32_t>(8 + payload.size())),
              0);
  }
}

TEST(Packet, ADatagramOfIPv6) {
  std::string packet = udp_packet(at("2001:db8::1", 53), at("fd00:c0e::2", 40000), "odd");
  ASSERT_EQ(packet.size(), 51u);
  EXPECT_EQ(packet[0], 0x60);
  EXPECT_EQ(two(packet, 4), 11u);
  EXPECT_EQ(packet[6], 17);
  EXPECT_EQ(checksum(packet.substr(40), sum(packet.substr(8, 32)) + 17 + 11), 0);
}

TEST(Packet, WhatDoesNotFitIsNotSent) {
  EXPECT_EQ(udp_packet(at("192.0.2.1", 1), at("10.0.2.100", 2), std::string(65507, 'x')).size(), 65535u);
  EXPECT_EQ(udp_packet(at("192.0.2.1", 1), at("10.0.2.100", 2), std::string(65508, 'x')), "");
  EXPECT_EQ(udp_packet(at("192.0.2.1", 1), at("fd00:c0e::2", 2), "x"), "");
  EXPECT_EQ(checksum(std::string(65536, '\xff')), 0);
}

TEST(Packet, ARefusalQuotesWhatWasSent) {
  std::string packet = port_unreachable_packet(at("10.0.2.100", 5000), at("192.0.2.1", 443), std::string(2000, 'q'));
  EXPECT_EQ(packet.size(), 576u);
  EXPECT_EQ(packet.substr(12, 8), std::string("\xc0\x00\x02\x01\x0a\x00\x02\x64", 8)) << "from the server";
  EXPECT_EQ(packet[9], 1);
  EXPECT_EQ(two(packet, 20), 0x0303u);
  EXPECT_EQ(checksum(packet.substr(20)), 0);
  EXPECT_EQ(two(packet, 28 + 20), 5000u) << "the source port, quoted";
  EXPECT_EQ(two(packet, 28 + 2), 2028u) << "the whole datagram's length";

  packet = port_unreachable_packet(at("fd00:c0e::2", 5000), at("2001:db8::1", 443), "x");
  EXPECT_EQ(packet[6], 58);
  EXPECT_EQ(two(packet, 40), 0x0104u);
  EXPECT_EQ(checksum(packet.substr(40), sum(packet.substr(8, 32)) + 58 + static_cast<uint32_t>(packet.size() - 40)), 0);
}

}  // namespace
}  // namespace cove::net
