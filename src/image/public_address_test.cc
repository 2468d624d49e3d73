#include "image/public_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace cove {
namespace {

sockaddr_storage address_of(const char* text) {
  sockaddr_storage storage = {};
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text, &four.sin_addr) == 1)
    storage.ss_family = AF_INET, four.sin_port = htons(80);
  else if (::inet_pton(AF_INET6, text, &six.sin6_addr) == 1)
    storage.ss_family = AF_INET6, six.sin6_port = htons(80);
  return storage;
}

bool is_public(const char* text) {
  sockaddr_storage storage = address_of(text);
  return is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

TEST(PublicAddress, IsOneOfTheInternet) {
  for (const char* text :
       {"1.1.1.1",   "9.255.255.255",  "11.0.0.0",        "100.63.255.255", "100.128.0.0",     "126.255.255.255",
        "128.0.0.1", "168.63.129.15",  "168.63.129.17",   "169.253.0.1",    "172.15.255.255",  "172.32.0.0",
        "192.0.1.1", "192.167.1.1",    "198.17.0.1",      "203.0.113.1",    "223.255.255.255", "2606:4700::1",
        "2a00::1",   "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"})
    EXPECT_TRUE(is_public(text)) << text;
}

TEST(PublicAddress, IsNoneOfThisMachineOrAPrivateNetwork) {
  for (const char* text : {"0.0.0.0",
                           "127.0.0.1",
                           "127.255.255.255",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "168.63.129.16",
                           "100.100.100.200",
                           "169.254.169.254",
                           "192.0.0.192",
                           "fd00:ec2::254",
                           "64:ff9b::a83f:8110",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.168.0.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "255.255.255.255",
                           "2002:101:101::1",
                           "::",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fd12::1",
                           "ff02::1",
                           "::127.0.0.1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a9fe:a9fe",
                           "64:ff9b:1::1",
                           "2002:7f00:1::1",
                           "2002:a00:1::",
                           "nonsense"})
    EXPECT_FALSE(is_public(text)) << text;
}

TEST(PublicAddress, HasAText) {
  sockaddr_storage storage = address_of("10.0.0.1");
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(storage)), "10.0.0.1:80");
  storage = address_of("::1");
  EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(storage)), "[::1]:80");
}

}  // namespace
}  // namespace cove
