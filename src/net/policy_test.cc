#include "net/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using Role = PolicyLayer::Role;
using Texts = std::vector<std::string>;

NetworkPolicy policy(NetworkTier tier, Texts allow = {}, Texts block = {}) {
  return {.tier = tier, .enabled = true, .allow = std::move(allow), .block = std::move(block)};
}
CompiledPolicy compiled(std::vector<PolicyLayer> layers) { return CompiledPolicy::compile(layers).value(); }
CompiledPolicy standard(Texts allow, Texts block = {}) {
  return compiled({{"sandbox", Role::Own, policy(NetworkTier::Standard, std::move(allow), std::move(block))}});
}
CompiledPolicy full(Texts allow = {}, Texts block = {}) {
  return compiled({{"sandbox", Role::Own, policy(NetworkTier::Elevated, std::move(allow), std::move(block))}});
}

Target by_name(std::string name, uint16_t port = 443) { return {.name = std::move(name), .port = port}; }
Target by_address(const char* address, uint16_t port = 443) {
  return {.address = parse_address(address).value(), .port = port};
}
Target request(std::string method, std::string path, std::string name = "api.example.org") {
  return {.name = std::move(name),
          .port = 80,
          .protocol = Protocol::Http,
          .method = std::move(method),
          .path = std::move(path)};
}

bool allows(const CompiledPolicy& policy, const Target& target) {
  return policy.decide(target).decision == Decision::Allow;
}
std::string denial(const CompiledPolicy& policy, const Target& target) {
  const Verdict verdict = policy.decide(target);
  return verdict.decision == Decision::Deny ? verdict.code : "not denied";
}
bool looks_up(const CompiledPolicy& policy, const std::string& name) {
  return policy.decide_lookup(name).decision == Decision::Allow;
}
bool connects(const CompiledPolicy& policy, const char* address, uint16_t port = 443, bool own = false) {
  return policy.check_resolved(by_name("db.example.org", port), parse_address(address).value(), own).decision ==
         Decision::Allow;
}

TEST(NetPolicy, AnEmptyAllowListDeniesEverything) {
  EXPECT_EQ(denial(standard({}), by_name("example.org")), "not_allowed");
  EXPECT_FALSE(looks_up(standard({}), "example.org"));
  EXPECT_EQ(denial(standard({}), by_address("8.8.8.8")), "needs_name");
}

TEST(NetPolicy, WithoutANetworkNothingIsAllowed) {
  for (NetworkTier tier : {NetworkTier::Sandbox, NetworkTier::Restricted})
    EXPECT_EQ(denial(compiled({{"sandbox", Role::Own, policy(tier, {"example.org"})}}), by_name("example.org")),
              "no_network");
  NetworkPolicy disabled = policy(NetworkTier::Unrestricted, {"example.org"});
  disabled.enabled = false;
  EXPECT_EQ(denial(compiled({{"sandbox", Role::Own, disabled}}), by_name("example.org")), "no_network");
  EXPECT_EQ(denial(compiled({}), by_name("example.org")), "no_network");
  EXPECT_FALSE(looks_up(compiled({}), "example.org"));
}

TEST(NetPolicy, ANameIsThatNameAndAWildcardItsSubdomains) {
  const CompiledPolicy name = standard({"example.org"}), wildcard = standard({"*.example.org"});
  EXPECT_TRUE(allows(name, by_name("example.org")));
  EXPECT_FALSE(allows(name, by_name("www.example.org")));
  EXPECT_FALSE(allows(name, by_name("example.org.evil.example")));
  EXPECT_FALSE(allows(wildcard, by_name("example.org")));
  EXPECT_TRUE(allows(wildcard, by_name("www.example.org")));
  EXPECT_TRUE(allows(wildcard, by_name("a.b.example.org")));
  EXPECT_FALSE(allows(wildcard, by_name("notexample.org")));
  EXPECT_FALSE(allows(wildcard, by_name("wwwexample.org")));
}

TEST(NetPolicy, OnlyNormalizedNamesAreNames) {
  for (const char* name : {"Example.org", "example.org.", "127.1", "exa mple.org", "example.org/"}) {
    EXPECT_FALSE(allows(standard({"example.org"}), by_name(name))) << name;
    EXPECT_FALSE(allows(full({}, {"example.org"}), by_name(name))) << name;
  }
}

TEST(NetPolicy, PortsAreMeant) {
  const CompiledPolicy policy = standard({"db.example.org:5432,6432"});
  EXPECT_TRUE(allows(policy, by_name("db.example.org", 5432)));
  EXPECT_FALSE(allows(policy, by_name("db.example.org", 443)));
  EXPECT_TRUE(looks_up(policy, "db.example.org"));
}

TEST(NetPolicy, BlockedWins) {
  const CompiledPolicy policy = standard({"*.example.org", "example.org"}, {"bad.example.org"});
  EXPECT_TRUE(allows(policy, by_name("good.example.org")));
  EXPECT_EQ(denial(policy, by_name("bad.example.org")), "blocked");
  EXPECT_EQ(policy.decide(by_name("bad.example.org")).rule, "bad.example.org");
  EXPECT_FALSE(looks_up(policy, "bad.example.org"));
  EXPECT_EQ(denial(full({"bad.example.org"}, {"*.example.org"}), by_name("bad.example.org")), "blocked");
}

TEST(NetPolicy, ABlockedPortLeavesTheOthers) {
  const CompiledPolicy policy = standard({"example.org"}, {"example.org:22"});
  EXPECT_EQ(denial(policy, by_name("example.org", 22)), "blocked");
  EXPECT_TRUE(allows(policy, by_name("example.org", 443)));
  EXPECT_TRUE(looks_up(policy, "example.org"));
  EXPECT_FALSE(looks_up(standard({"example.org:22"}, {"example.org:22"}), "example.org"));
}

TEST(NetPolicy, FullTiersReachAllButWhatIsBlocked) {
  EXPECT_TRUE(allows(full(), by_name("anything.example")));
  EXPECT_TRUE(allows(full({"only.example"}), by_name("anything.example")));
  EXPECT_TRUE(allows(full(), by_address("8.8.8.8", 53)));
  EXPECT_FALSE(allows(full({}, {"8.8.8.0/24"}), by_address("8.8.8.8")));
  Target udp = by_name("example.org");
  udp.protocol = Protocol::Udp;
  EXPECT_TRUE(allows(full(), udp));
  EXPECT_EQ(denial(standard({"example.org"}), udp), "protocol");
}

TEST(NetPolicy, EveryLayerMustAllow) {
  const CompiledPolicy policy = compiled(
      {{"server", Role::Bound, net::policy(NetworkTier::Unrestricted, {}, {"evil.example"})},
       {"project", Role::Bound, net::policy(NetworkTier::Standard, {"*.example.org", "evil.example"})},
       {"sandbox", Role::Own, net::policy(NetworkTier::Elevated, {"a.example.org", "b.example", "evil.example"})}});
  EXPECT_EQ(policy.tier(), NetworkTier::Standard);
  EXPECT_TRUE(allows(policy, by_name("a.example.org")));
  EXPECT_EQ(policy.decide(by_name("b.example")).layer, "project");
  EXPECT_EQ(policy.decide(by_name("c.example.org")).layer, "sandbox");
  EXPECT_EQ(policy.decide(by_name("evil.example")).layer, "server");
}

TEST(NetPolicy, TheListOfABoundHoldsInFullTiersToo) {
  const CompiledPolicy policy =
      compiled({{"server", Role::Bound, net::policy(NetworkTier::Unrestricted, {"*.example.org"})},
                {"sandbox", Role::Own, net::policy(NetworkTier::Unrestricted)}});
  EXPECT_TRUE(allows(policy, by_name("a.example.org")));
  EXPECT_EQ(policy.decide(by_name("example.com")).layer, "server");
  EXPECT_FALSE(allows(policy, by_address("8.8.8.8")));
}

TEST(NetPolicy, AListOfAGroupWithoutHostsIsStillAList) {
  const CompiledPolicy policy = compiled({{"server", Role::Bound, net::policy(NetworkTier::Unrestricted, {"@debian"})},
                                          {"sandbox", Role::Own, net::policy(NetworkTier::Unrestricted)}});
  EXPECT_FALSE(allows(policy, by_name("example.com")));
}

TEST(NetPolicy, TheSmallestBudgetCounts) {
  NetworkPolicy one = policy(NetworkTier::Standard), two = one;
  one.budget = {.bytes = 100, .connections = 0};
  two.budget = {.bytes = 50, .connections = 7};
  EXPECT_EQ(compiled({{"a", Role::Bound, one}, {"b", Role::Own, two}}).budget(), (NetworkBudget{50, 7}));
}

TEST(NetPolicy, GroupsStandForTheirHosts) {
  const CompiledPolicy policy = standard({"@python:443"});
  EXPECT_TRUE(allows(policy, by_name("pypi.org")));
  EXPECT_EQ(policy.decide(by_name("pypi.org")).rule, "@python:443");
  EXPECT_FALSE(allows(policy, by_name("pypi.org", 80)));
  EXPECT_EQ(standard({"GET @python"}).decide(by_name("pypi.org")).decision, Decision::NeedsRequest);
  EXPECT_EQ(denial(full({}, {"@python"}), by_name("pypi.org")), "blocked");
}

TEST(NetPolicy, AddressesNeedAnAllowedNetwork) {
  const CompiledPolicy policy = standard({"8.8.0.0/16:53", "10.1.0.0/16"});
  EXPECT_TRUE(allows(policy, by_address("8.8.8.8", 53)));
  EXPECT_EQ(denial(policy, by_address("8.8.8.8", 443)), "needs_name");
  EXPECT_TRUE(allows(policy, by_address("10.1.2.3")));
  EXPECT_TRUE(allows(policy, by_address("::ffff:10.1.2.3")));
  EXPECT_EQ(denial(policy, by_address("10.2.2.3")), "private_address");
  EXPECT_EQ(denial(policy, by_address("169.254.169.254")), "private_address");
}

TEST(NetPolicy, WideNetworksDoNotIncludePrivateOnes) {
  const CompiledPolicy policy = standard({"0.0.0.0/0", "[::]/0"});
  EXPECT_TRUE(allows(policy, by_address("8.8.8.8")));
  EXPECT_TRUE(allows(policy, by_address("2606:4700::1111")));
  for (const char* address :
       {"10.0.0.1", "127.0.0.1", "169.254.169.254", "168.63.129.16", "fd00:ec2::254", "::1", "64:ff9b::a00:1"}) {
    EXPECT_FALSE(allows(policy, by_address(address))) << address;
    EXPECT_FALSE(connects(policy, address)) << address;
    EXPECT_FALSE(connects(full({"0.0.0.0/0", "[::]/0"}), address)) << address;
  }
  EXPECT_TRUE(connects(standard({"169.254.169.254"}), "169.254.169.254"));
  EXPECT_TRUE(connects(standard({"10.0.0.0/8"}), "64:ff9b::a00:1"));
}

TEST(NetPolicy, ResolvedAddressesMustBePublicOrAllowed) {
  const CompiledPolicy policy = standard({"db.example.org", "10.1.0.0/16:5432"});
  EXPECT_TRUE(connects(policy, "93.184.215.14"));
  EXPECT_TRUE(connects(policy, "10.1.2.3", 5432));
  EXPECT_FALSE(connects(policy, "10.1.2.3", 443));
  EXPECT_FALSE(connects(policy, "10.2.2.3", 5432));
  EXPECT_FALSE(connects(policy, "127.0.0.1"));
  EXPECT_FALSE(connects(full(), "192.168.1.1"));
  EXPECT_FALSE(connects(full(), "::ffff:127.0.0.1"));
  const Verdict verdict = policy.check_resolved(by_name("db.example.org"), parse_address("127.0.0.1").value(), false);
  EXPECT_EQ(verdict.code, "private_address");
  EXPECT_THAT(verdict.why, HasSubstr("db.example.org (127.0.0.1) is loopback"));
}

TEST(NetPolicy, BlockedNetworksCountForResolvedAddresses) {
  EXPECT_FALSE(connects(standard({"db.example.org"}, {"93.184.0.0/16"}), "93.184.215.14"));
  EXPECT_FALSE(connects(standard({"db.example.org"}, {"93.184.0.0/16"}), "64:ff9b::5db8:d70e"));
  EXPECT_FALSE(connects(full({}, {"93.184.0.0/16:443"}), "93.184.215.14"));
  EXPECT_TRUE(connects(full({}, {"93.184.0.0/16:443"}), "93.184.215.14", 80));
  EXPECT_FALSE(connects(full({}, {"GET 93.184.0.0/16"}), "93.184.215.14"));
}

TEST(NetPolicy, AddressesOfThisMachineMustBeNamedThemselves) {
  EXPECT_FALSE(connects(full(), "93.184.215.14", 443, true));
  EXPECT_FALSE(connects(full({"93.184.215.0/24", "0.0.0.0/0"}), "93.184.215.14", 443, true));
  EXPECT_FALSE(connects(full({"10.0.0.0/8"}), "10.0.0.1", 443, true));
  EXPECT_TRUE(connects(full({"10.0.0.1:443"}), "10.0.0.1", 443, true));
  EXPECT_FALSE(connects(full({"10.0.0.1:443"}), "10.0.0.1", 22, true));
}

TEST(NetPolicy, PrivateAddressesMustBeAllowedByEveryList) {
  const auto layers = [](Texts bound) {
    return compiled({{"server", Role::Bound, policy(NetworkTier::Unrestricted, std::move(bound))},
                     {"sandbox", Role::Own, policy(NetworkTier::Standard, {"db.example.org", "10.1.2.3"})}});
  };
  EXPECT_TRUE(connects(layers({}), "10.1.2.3"));
  EXPECT_FALSE(connects(layers({"*.example.org"}), "10.1.2.3"));
  EXPECT_TRUE(connects(layers({"*.example.org", "10.0.0.0/8"}), "10.1.2.3"));
}

TEST(NetPolicy, RulesForRequestsNeedARequest) {
  const CompiledPolicy policy = standard({"GET,HEAD api.example.org/repos/*"});
  EXPECT_EQ(policy.decide(by_name("api.example.org", 80)).decision, Decision::NeedsRequest);
  EXPECT_TRUE(looks_up(policy, "api.example.org"));
  EXPECT_TRUE(allows(policy, request("GET", "/repos/x")));
  EXPECT_FALSE(allows(policy, request("POST", "/repos/x")));
  EXPECT_FALSE(allows(policy, request("get", "/repos/x")));
  EXPECT_FALSE(allows(policy, request("GET", "/user")));
  EXPECT_THAT(policy.decide(request("GET", "/user")).why, HasSubstr("GET api.example.org:80/user"));
  EXPECT_TRUE(allows(standard({"GET api.example.org/x", "api.example.org"}), by_name("api.example.org")));
}

TEST(NetPolicy, AnAllowedPathIsNotLeftInAnotherSpelling) {
  const CompiledPolicy policy = standard({"api.example.org/public/*"});
  for (const char* path :
       {"/public/../secret", "/public/%2e%2e/secret", "/public/..%2fsecret", "/public/%252e%252e/secret",
        "/public/..;/secret", "/public/..\\secret", "/secret/../public/x", "//secret//../public/x", "*", "/public/%00",
        "/public#x", "/public", "/Public/x"})
    EXPECT_FALSE(allows(policy, request("GET", path))) << path;
  EXPECT_TRUE(allows(policy, request("GET", "/public/a%20b/c")));
  EXPECT_TRUE(allows(policy, request("GET", "/public/")));
}

TEST(NetPolicy, ABlockedPathIsNotReachedInAnotherSpelling) {
  const CompiledPolicy policy = standard({"api.example.org"}, {"api.example.org/secret/*"});
  EXPECT_EQ(policy.decide(by_name("api.example.org")).decision, Decision::NeedsRequest);
  for (const char* path : {"/secret/", "/secret", "/secret/x", "/SECRET/x", "//secret/x", "/%73ecret/x",
                           "/%2573ecret/x", "/a/../secret/x", "/a/%2e%2e/secret/x", "/a/..;x/secret/x", "/secret;x/y",
                           "/a\\..\\secret\\x", "/secret%2fx", "/a/%00", "/./secret/x", "*"})
    EXPECT_EQ(denial(policy, request("GET", path)), "blocked") << path;
  EXPECT_TRUE(allows(policy, request("GET", "/public")));
  EXPECT_TRUE(allows(policy, request("GET", "/secrets")));
}

TEST(NetPolicy, ABlockedMethodIsNotReachedInAnotherCase) {
  const CompiledPolicy policy = standard({"api.example.org"}, {"DELETE api.example.org"});
  EXPECT_EQ(denial(policy, request("DELETE", "/")), "blocked");
  EXPECT_EQ(denial(policy, request("delete", "/")), "blocked");
  EXPECT_TRUE(allows(policy, request("GET", "/")));
}

TEST(NetPolicy, NothingThatCannotBeParsedIsIgnored) {
  for (const char* rule : {"*", "a b c", "@nothing", "10.0.0.1/8"}) {
    EXPECT_FALSE(CompiledPolicy::compile({{"sandbox", Role::Own, policy(NetworkTier::Standard, {rule})}})) << rule;
    EXPECT_FALSE(CompiledPolicy::compile({{"sandbox", Role::Own, policy(NetworkTier::Standard, {}, {rule})}})) << rule;
  }
}

TEST(NetPolicy, CheckingNamesTheRuleAtFault) {
  EXPECT_TRUE(check_policy(policy(NetworkTier::Standard, {"example.org"}, {"@github"})));
  Error error = check_policy(policy(NetworkTier::Standard, {"example.org", "*"})).error();
  EXPECT_THAT(error.message(), HasSubstr("'network.allow[1]': the rule '*': "));
  EXPECT_EQ(error.pointer(), "/network/allow/1");
  EXPECT_EQ(check_policy(policy(NetworkTier::Standard, {}, {"x y"})).error().pointer(), "/network/block/0");
}

EffectivePolicy example() {
  NetworkPolicy learning = policy(NetworkTier::Standard, {"@python", "10.0.0.0/8:22"});
  learning.learn = true;
  learning.budget = {5, 6};
  return {.version = 7,
          .layers = {{"server", Role::Bound, policy(NetworkTier::Unrestricted, {}, {"evil.example"})},
                     {"sandbox", Role::Own, learning}},
          .learn = true,
          .secrets = {{"TOKEN", "ghp_xxxx", "ghp_real", {"api.example.org"}, {"authorization", "query"}}},
          .authority_certificate = "certificate",
          .authority_key = "key"};
}

TEST(NetPolicy, ArrivesAsItWasSent) {
  wire::Writer out;
  encode(out, example());
  wire::Reader in(out.data());
  EXPECT_EQ(decode_policy(in).value(), example());
  EXPECT_TRUE(in.done());
}

TEST(NetPolicy, CutShortIsMalformed) {
  wire::Writer out;
  encode(out, example());
  for (size_t size = 0; size < out.data().size(); ++size) {
    wire::Reader in(std::string_view(out.data()).substr(0, size));
    EXPECT_FALSE(decode_policy(in)) << size;
  }
}

}  // namespace
}  // namespace cove::net
