#include "net/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/network.h"

namespace cove::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string canonical(std::string_view text) {
  Result<Rule> rule = parse_rule(text);
  if (!rule) return rule.error().message();
  EXPECT_EQ(parse_rule(to_text(*rule)).value(), *rule) << text;
  return to_text(*rule);
}

// The message and the hint.
std::string refusal(std::string_view text) {
  Result<Rule> rule = parse_rule(text);
  if (rule) return "taken as " + to_text(*rule);
  EXPECT_EQ(rule.error().code(), Code::Invalid);
  return rule.error().message() + " | " + rule.error().hint();
}

TEST(NetRule, NamesAreTakenInTheirCanonicalForm) {
  EXPECT_EQ(canonical("PyPI.org."), "pypi.org");
  EXPECT_EQ(canonical("  pypi.org "), "pypi.org");
  EXPECT_EQ(canonical("*.Example.ORG"), "*.example.org");
  EXPECT_EQ(canonical("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(canonical("_srv.my_host.example"), "_srv.my_host.example");
  EXPECT_EQ(canonical("localhost"), "localhost");
  EXPECT_EQ(canonical("r3---sn-4g5.example"), "r3---sn-4g5.example");
}

TEST(NetRule, PortsAreSortedAndNamedOnce) {
  EXPECT_EQ(canonical("example.org:443,80,443"), "example.org:80,443");
  EXPECT_EQ(parse_rule("example.org:65535")->ports, std::vector<uint16_t>{65535});
  for (const char* text :
       {"a.b:0", "a.b:65536", "a.b:", "a.b:80,", "a.b:http", "a.b:-1", "a.b:+80", "a.b: 80", "a.b:80:90"})
    EXPECT_FALSE(parse_rule(text)) << text;
}

TEST(NetRule, NetworksHaveNoHostBits) {
  EXPECT_EQ(canonical("10.1.0.0/16"), "10.1.0.0/16");
  EXPECT_EQ(canonical("10.1.0.0/16:443"), "10.1.0.0/16:443");
  EXPECT_EQ(canonical("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(canonical("192.0.2.7/32"), "192.0.2.7");
  EXPECT_EQ(canonical("[fd00::]/8:443"), "[fd00::]/8:443");
  EXPECT_EQ(canonical("[2001:DB8:0::1]"), "[2001:db8::1]");
  EXPECT_EQ(canonical("[::]/0"), "[::]/0");
  EXPECT_EQ(canonical("0.0.0.0/0"), "0.0.0.0/0");
  EXPECT_EQ(canonical("[::ffff:10.1.0.0]/112"), "10.1.0.0/16");
  EXPECT_THAT(refusal("10.1.2.3/16"), HasSubstr("did you mean 10.1.0.0/16?"));
  EXPECT_THAT(refusal("[fd00::1]/8"), HasSubstr("did you mean [fd00::]/8?"));
  EXPECT_THAT(refusal("10.0.0.0/33"), HasSubstr("0 to 32"));
  EXPECT_THAT(refusal("fd00::/8"), HasSubstr("brackets"));
  EXPECT_THAT(refusal("::1"), HasSubstr("brackets"));
  for (const char* text : {"[fd00::", "[10.0.0.1]", "[]", "[::1]x", "[fe80::1%eth0]", "[::1]/129"})
    EXPECT_FALSE(parse_rule(text)) << text;
}

TEST(NetRule, NumbersThatLookLikeAddressesAreNoNames) {
  for (const char* text : {"127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "1.2.3.4.5", "256.1.1.1",
                           "foo.0x7f", "127.0.0.1.", "*.1", "010.0.0.1"})
    EXPECT_THAT(refusal(text), HasSubstr("looks like an address")) << text;
}

TEST(NetRule, WildcardsStandInFrontOnly) {
  EXPECT_THAT(refusal("*"), HasSubstr("alone"));
  EXPECT_THAT(refusal("*:443"), HasSubstr("alone"));
  EXPECT_THAT(refusal("*/x"), HasSubstr("alone"));
  for (const char* text : {"**.example.org", "*example.org", "a.*.org", "example.*", "*.*.org", "example.org*"})
    EXPECT_THAT(refusal(text), HasSubstr("every subdomain")) << text;
}

TEST(NetRule, NamesThatCannotBeAreRefused) {
  const std::string label(63, 'a');
  const std::string longest = label + "." + label + "." + label + "." + label.substr(0, 61);
  EXPECT_EQ(normalize_name(longest).value(), longest);
  EXPECT_FALSE(normalize_name(longest + "a"));
  EXPECT_FALSE(normalize_name(label + "a.example"));
  for (const std::string name :
       {"", ".", "a..b", ".a", "-a.example", "a-.example", "a b", "a/b", "a%2eb", "a\tb", "a@b", "a:b", "a\\b", "a,b"})
    EXPECT_FALSE(normalize_name(name)) << name;
  EXPECT_FALSE(normalize_name(std::string_view("a\0b.example", 11)));
  EXPECT_THAT(refusal("bücher.example"), HasSubstr("xn--"));
  EXPECT_THAT(refusal("https://example.org"), HasSubstr("no scheme"));
  EXPECT_THAT(refusal(""), HasSubstr("no host"));
  EXPECT_THAT(refusal(":80"), HasSubstr("no host"));
  EXPECT_THAT(refusal("a b c"), HasSubstr("is not a method"));
  EXPECT_THAT(refusal("GET a b"), HasSubstr("more than one space"));
  EXPECT_FALSE(parse_rule(std::string(kLongestNetworkRule + 1, 'a')));
}

TEST(NetRule, GroupsAreKnownByName) {
  EXPECT_EQ(canonical("@Python"), "@python");
  EXPECT_EQ(canonical("GET @github:443"), "GET @github:443");
  EXPECT_THAT(refusal("@pyton"), HasSubstr("did you mean '@python'?"));
  EXPECT_THAT(refusal("@"), HasSubstr("cove net groups"));
  EXPECT_THAT(refusal("@nothing-like-it"), HasSubstr("cove net groups"));
}

TEST(NetRule, RequestsAreNamedByMethodAndPath) {
  EXPECT_EQ(canonical("head,get api.example.org/repos/*"), "GET,HEAD api.example.org/repos/*");
  EXPECT_EQ(canonical("api.example.org:8080/a"), "api.example.org:8080/a");
  EXPECT_EQ(canonical("10.0.0.0/8/api"), "10.0.0.0/8/api");
  EXPECT_EQ(canonical("10.0.0.0/8:80/api"), "10.0.0.0/8:80/api");
  EXPECT_EQ(canonical("10.0.0.1/api"), "10.0.0.1/32/api");
  EXPECT_EQ(canonical("[fd::]/128/8:443"), "[fd::]/128/8:443");
  EXPECT_EQ(canonical("POST example.org/ä/"), "POST example.org/ä/");
  EXPECT_THAT(refusal("GTE example.org"), HasSubstr("did you mean GET?"));
  EXPECT_THAT(refusal("CONNECT example.org"), HasSubstr("not a method"));
  for (const char* text : {"a.b/x?y", "a.b/x#y", "a.b/%61", "a.b/x;y", "a.b/x\\y", "a.b//x", "a.b/x/../y", "a.b/./x",
                           "a.b/x/..", "a.b/\xff"})
    EXPECT_FALSE(parse_rule(text)) << text;
}

TEST(NetRule, AnErrorNamesTheRuleAndCanBeShown) {
  EXPECT_THAT(refusal("exa mple"), HasSubstr("the rule 'exa mple': "));
  const std::string message = refusal("a\x1b[2J\xff.example");
  EXPECT_EQ(message.find('\x1b'), message.npos);
  EXPECT_EQ(message.find('\xff'), message.npos);
}

TEST(NetRule, InPartsBecomesOneTextForEachPath) {
  EXPECT_THAT(rule_texts({"API.example.org", {443, 80}, {"post", "GET"}, {"/a", "/b/*"}}).value(),
              ElementsAre("GET,POST api.example.org:80,443/a", "GET,POST api.example.org:80,443/b/*"));
  EXPECT_THAT(rule_texts({"@python", {}, {}, {}}).value(), ElementsAre("@python"));
  EXPECT_THAT(rule_texts({"[fd00::]/8", {22}, {}, {}}).value(), ElementsAre("[fd00::]/8:22"));
  EXPECT_FALSE(rule_texts({"example.org:443", {}, {}, {}}));
  EXPECT_FALSE(rule_texts({"GET example.org", {}, {}, {}}));
  EXPECT_FALSE(rule_texts({"example.org", {0}, {}, {}}));
  EXPECT_FALSE(rule_texts({"example.org", {}, {"FETCH"}, {}}));
  EXPECT_FALSE(rule_texts({"example.org", {}, {}, {"a"}}));
  EXPECT_FALSE(rule_texts({"", {}, {}, {}}));
}

}  // namespace
}  // namespace cove::net
