#include "net/address.h"

#include <gtest/gtest.h>

namespace cove::net {
namespace {

Address at(const char* text) { return parse_address(text).value(); }

TEST(NetAddress, IsParsedStrictly) {
  EXPECT_EQ(to_text(at("192.0.2.1")), "192.0.2.1");
  EXPECT_EQ(to_text(at("::ffff:192.0.2.1")), "192.0.2.1");
  EXPECT_EQ(to_text(at("2001:DB8::0:1")), "2001:db8::1");
  for (std::string_view text :
       {"", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "192.0.2.01", "192.0.2.1.", " 192.0.2.1", "192.0.2.256",
        "fe80::1%lo", "[::1]", "1.2.3.4.5", "::1::", "example.org"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address(std::string_view("127.0.0.1\0.example", 17)));
  EXPECT_FALSE(parse_address(std::string(4096, '1')));
}

TEST(NetAddress, OfNumbersLooksNumeric) {
  for (std::string_view text : {"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "017700000001",
                                "0X7F.0.0.1", "127.0.0.1.", "foo.0x7f", "foo.1", "1.2.3.4.5", "0x"})
    EXPECT_TRUE(looks_numeric(text)) << text;
  for (std::string_view text : {"1.example.org", "0x7f.example", "1password.com", "a1", "dead.beef", ""})
    EXPECT_FALSE(looks_numeric(text)) << text;
}

TEST(NetAddress, OfThePublicInternetIsKnown) {
  for (const char* text : {"8.8.8.8", "1.1.1.1", "172.32.0.1", "172.15.255.255", "100.128.0.1", "169.253.1.1",
                           "2606:4700::1111", "2a00:1450:4001::5e", "64:ff9b::808:808", "::ffff:8.8.8.8"})
    EXPECT_TRUE(is_public(at(text))) << text;
}

TEST(NetAddress, OfAnyOtherNetworkIsKnown) {
  for (const char* text : {"0.0.0.0",     "0.1.2.3",         "10.0.0.1",        "10.255.255.255",  "100.64.0.1",
                           "127.0.0.1",   "127.255.0.1",     "169.254.169.254", "172.16.0.1",      "172.31.255.255",
                           "192.0.0.192", "192.168.1.1",     "198.18.0.1",      "198.19.255.255",  "224.0.0.1",
                           "240.0.0.1",   "255.255.255.255", "168.63.129.16",   "100.100.100.200", "192.88.99.1"})
    EXPECT_FALSE(is_public(at(text))) << text;
}

TEST(NetAddress, OfIpv6IsPublicOnlyWhereItIsAssignedAndLeadsThere) {
  for (const char* text : {"::",
                           "::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::ffff:169.254.169.254",
                           "::127.0.0.1",
                           "::8.8.8.8",
                           "fe80::1",
                           "fec0::1",
                           "fc00::1",
                           "fd00:ec2::254",
                           "fd00:c0e::3",
                           "ff02::1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::808:808",
                           "2002:7f00:1::",
                           "2002:808:808::1",
                           "2001::1",
                           "2001:0:53aa:64c::1",
                           "2001:20::1",
                           "100::1",
                           "4000::1",
                           "5f00::1",
                           "::ffff:0:127.0.0.1"})
    EXPECT_FALSE(is_public(at(text))) << text;
}

TEST(NetAddress, OfANetworkArePublicOnlyWhereAllAre) {
  const std::pair<const char*, int> whole[] = {{"44.10.0.0", 112}, {"8.8.8.8", 128}, {"2a00::", 16}, {"2600::", 8}};
  for (auto [text, bits] : whole) EXPECT_TRUE(is_public(at(text), bits)) << text;
  const std::pair<const char*, int> not_whole[] = {
      {"0.0.0.0", 96},          {"127.0.0.1", 128}, {"168.63.0.0", 112}, {"169.0.0.0", 104},      {"128.0.0.0", 97},
      {"169.254.169.254", 128}, {"::", 0},          {"2000::", 3},       {"2001::", 16},          {"::1", 128},
      {"64:ff9b::", 96},        {"fc00::", 7},      {"3000::", 2},       {"::ffff:10.0.0.0", 104}};
  for (auto [text, bits] : not_whole) EXPECT_FALSE(is_public(at(text), bits)) << text;
}

TEST(NetAddress, IsInANetworkOfItsFamilyOnly) {
  EXPECT_TRUE(in_network(at("10.1.2.3"), at("10.1.0.0"), 96 + 16));
  EXPECT_FALSE(in_network(at("10.2.2.3"), at("10.1.0.0"), 96 + 16));
  EXPECT_TRUE(in_network(at("10.1.2.3"), at("0.0.0.0"), 96));
  EXPECT_TRUE(in_network(at("10.1.2.3"), at("10.1.2.3"), 128));
  EXPECT_TRUE(in_network(at("fd12::1"), at("fc00::"), 7));
  EXPECT_FALSE(in_network(at("10.1.2.3"), at("::"), 0));
  EXPECT_FALSE(in_network(at("2606::1"), at("0.0.0.0"), 96));
}

}  // namespace
}  // namespace cove::net
