#include "net/gateway/names.h"

#include <gtest/gtest.h>

#include <set>

namespace cove::net {
namespace {

Address ip(const char* text) { return parse_address(text).value(); }

TEST(NameTable, MapsANameToAnAddressAndBack) {
  NameTable names;
  Address address = names.address_of("pypi.org");
  EXPECT_TRUE(is_synthetic(address));
  EXPECT_EQ(names.name_of(address), "pypi.org");
  EXPECT_EQ(names.address_of("pypi.org"), address);
  EXPECT_EQ(names.name_of(ip("198.18.0.0")), "");
  EXPECT_EQ(names.name_of(ip("192.0.2.1")), "");
}

TEST(NameTable, ANewOneGivesTheSameAddresses) {
  NameTable one, other;
  one.address_of("unrelated.example");
  Address address = one.address_of("pypi.org");
  EXPECT_EQ(other.address_of("pypi.org"), address);
  EXPECT_EQ(other.name_of(address), "pypi.org");
}

TEST(NameTable, ANewOneKnowsTheNamesOfTheRules) {
  NameTable one, other;
  Address address = one.address_of("db.example");
  EffectivePolicy policy;
  policy.layers.push_back({"sandbox", PolicyLayer::Role::Own, {}});
  policy.layers[0].policy.allow = {"*.wild.example", "db.example:5432", "10.0.0.0/8", "@python"};
  add_names_of(policy, other);
  EXPECT_EQ(other.name_of(address), "db.example");
  EXPECT_EQ(other.name_of(one.address_of("pypi.org")), "pypi.org");
  EXPECT_EQ(other.name_of(one.address_of("wild.example")), "");
}

TEST(NameTable, TwoNamesNeverShareAnAddress) {
  NameTable names;
  std::set<Address> seen;
  for (int i = 0; i < 8000; ++i) {
    std::string name = "n" + std::to_string(i) + ".example";
    Address address = names.address_of(name);
    EXPECT_TRUE(seen.insert(address).second) << name;
    EXPECT_TRUE(is_synthetic(address));
    EXPECT_NE(address.bytes[15], 0);
    EXPECT_NE(address.bytes[15], 255);
  }
  EXPECT_EQ(names.size(), 8000u);
}

TEST(NameTable, TheNameThatWasNotUsedForLongestMakesRoom) {
  NameTable names(3);
  Address one = names.address_of("one"), two = names.address_of("two");
  names.address_of("three");
  EXPECT_EQ(names.name_of(one), "one");  // used again
  names.address_of("four");
  EXPECT_EQ(names.name_of(two), "");
  EXPECT_EQ(names.name_of(one), "one");
  EXPECT_EQ(names.size(), 3u);
}

TEST(Synthetic, IsTheNetworkForMeasurements) {
  EXPECT_TRUE(is_synthetic(ip("198.18.0.1")));
  EXPECT_TRUE(is_synthetic(ip("198.19.255.254")));
  EXPECT_FALSE(is_synthetic(ip("198.17.255.255")));
  EXPECT_FALSE(is_synthetic(ip("198.20.0.0")));
  EXPECT_FALSE(is_synthetic(ip("2001:db8::c612:1")));
}

}  // namespace
}  // namespace cove::net
