#include "net/gateway/placeholder.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::net {
namespace {

constexpr const char* kPlaceholder = "ghp_placeholder123";

BrokeredSecret secret(std::vector<std::string> places, std::string value = "ghp_v/l+e&x y=9900") {
  return {"TOKEN", kPlaceholder, std::move(value), {"api.example.org"}, std::move(places)};
}

// The only header after the secret was put in.
std::string header_with(const BrokeredSecret& of, const std::string& name, const std::string& value) {
  RequestHead head{"/", {{name, value}}};
  put_in(of, head);
  return head.headers[0].second;
}

std::string target_with(const BrokeredSecret& of, const std::string& target) {
  RequestHead head{target, {}};
  put_in(of, head);
  return head.target;
}

TEST(Placeholder, IsReplacedInTheNamedHeaders) {
  const BrokeredSecret of = secret({"authorization", "x-api-key"});
  EXPECT_EQ(header_with(of, "Authorization", concat("Bearer ", kPlaceholder)), concat("Bearer ", of.value));
  EXPECT_EQ(header_with(of, "AUTHORIZATION", concat("token ", kPlaceholder)), concat("token ", of.value));
  EXPECT_EQ(header_with(of, "x-API-key", kPlaceholder), of.value);
  EXPECT_EQ(header_with(of, "X-Other", kPlaceholder), kPlaceholder);
  EXPECT_EQ(header_with(of, "Cookie", concat("a=", kPlaceholder)), concat("a=", kPlaceholder));
  EXPECT_EQ(header_with(of, "Authorization", "Bearer ghp_placeholder12"), "Bearer ghp_placeholder12");
  EXPECT_EQ(target_with(of, concat("/?key=", kPlaceholder)), concat("/?key=", kPlaceholder));
}

TEST(Placeholder, IsReplacedInUserOrPasswordOfBasic) {
  const BrokeredSecret of = secret({"authorization"});
  auto basic = [](const std::string& text) { return concat("Basic ", to_base64(text)); };
  EXPECT_EQ(header_with(of, "Authorization", basic(concat("x-access-token:", kPlaceholder))),
            basic(concat("x-access-token:", of.value)));
  EXPECT_EQ(header_with(of, "Authorization", basic(concat(kPlaceholder, ":"))), basic(concat(of.value, ":")));
  EXPECT_EQ(header_with(of, "Authorization", basic(concat(kPlaceholder, ":", kPlaceholder))),
            basic(concat(of.value, ":", of.value)));
  EXPECT_EQ(header_with(of, "authorization", concat("bAsIc  ", to_base64(concat("u:", kPlaceholder)))),
            concat("bAsIc  ", to_base64(concat("u:", of.value))));
  EXPECT_EQ(header_with(of, "Authorization", basic("other:password")), basic("other:password"));
  EXPECT_EQ(header_with(of, "Authorization", concat("Basic !", kPlaceholder)), concat("Basic !", kPlaceholder));
  EXPECT_EQ(header_with(of, "Authorization", "Basic "), "Basic ");
}

TEST(Placeholder, IsNotFoundAcrossTheColonOfBasic) {
  BrokeredSecret of = secret({"authorization"});
  of.placeholder = "abc:def";
  const std::string header = concat("Basic ", to_base64("abc:def"));
  EXPECT_EQ(header_with(of, "Authorization", header), header);
}

TEST(Placeholder, IsReplacedInTheQueryWhereThatIsNamed) {
  const BrokeredSecret of = secret({"query"});
  const std::string encoded = percent_encode(of.value);
  EXPECT_EQ(target_with(of, concat("/p?a=1&key=", kPlaceholder, "&b=%20")), concat("/p?a=1&key=", encoded, "&b=%20"));
  EXPECT_EQ(target_with(of, "/p?key=ghp%5Fplaceholder%31%32%33"), concat("/p?key=", encoded));
  EXPECT_EQ(target_with(of, concat("/", kPlaceholder, "?a=1")), concat("/", kPlaceholder, "?a=1"));
  EXPECT_EQ(target_with(of, concat("/?", kPlaceholder)), concat("/?", kPlaceholder));
  EXPECT_EQ(target_with(of, "/p?key=%zz"), "/p?key=%zz");
  EXPECT_EQ(header_with(of, "Authorization", kPlaceholder), kPlaceholder);
}

TEST(Placeholder, NeverBreaksAHead) {
  const BrokeredSecret of = secret({"authorization", "query"}, "two\r\nLines: of text");
  const std::string bearer = concat("Bearer ", kPlaceholder);
  EXPECT_EQ(header_with(of, "Authorization", bearer), bearer);
  EXPECT_EQ(header_with(of, "Authorization", concat("Basic ", to_base64(concat("u:", kPlaceholder)))),
            concat("Basic ", to_base64(concat("u:", of.value))));
  EXPECT_EQ(target_with(of, concat("/?k=", kPlaceholder)), concat("/?k=", percent_encode(of.value)));
}

TEST(Placeholder, EndsWhereTheValueContainsIt) {
  const BrokeredSecret of = secret({"authorization"}, concat(kPlaceholder, kPlaceholder));
  EXPECT_EQ(header_with(of, "Authorization", kPlaceholder), of.value);
}

TEST(SecretHosts, AreNamesSubdomainsAndPorts) {
  BrokeredSecret of = secret({});
  of.hosts = {"api.example.org", "*.example.net", "db.example.org:8443"};
  EXPECT_TRUE(is_for(of, "api.example.org", 443));
  EXPECT_TRUE(is_for(of, "api.example.org", 8080));
  EXPECT_TRUE(is_for(of, "a.b.example.net", 443));
  EXPECT_TRUE(is_for(of, "db.example.org", 8443));
  for (const char* other :
       {"example.net", "evilexample.net", "example.org", "xapi.example.org", "api.example.org.evil.org", ""})
    EXPECT_FALSE(is_for(of, other, 443)) << other;
  EXPECT_FALSE(is_for(of, "db.example.org", 443));
}

}  // namespace
}  // namespace cove::net
