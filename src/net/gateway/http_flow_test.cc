#include "net/gateway/http_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/text.h"
#include "net/gateway/flow_testing.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Inside = HttpFlow::Inside;

std::string with_body(std::string_view body, std::string_view headers = "") {
  return concat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n", body);
}

// Answers every request with its own head.
void echo(Wire& wire) {
  for (std::string head = wire.read_head(); !head.empty(); head = wire.read_head()) wire.write(with_body(head));
}

std::string body_of_next(Wire& wire) {
  const std::string head = wire.read_head();
  const size_t at = head.find("Content-Length: ");
  EXPECT_NE(at, std::string::npos) << head;
  return at == std::string::npos ? "" : wire.read_exactly(std::stoul(head.substr(at + 16)));
}

TEST(HttpFlow, ForwardsRequestsOneByOneOverOneConnection) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  for (const char* path : {"/one?x=1", "/two"}) {
    client.write(
        concat("GET ", path, " HTTP/1.1\r\nHost: api.example.org\r\nX-A: b\r\nProxy-Authorization: x\r\n\r\n"));
    EXPECT_EQ(body_of_next(client), concat("GET ", path, " HTTP/1.1\r\nHost: api.example.org\r\nX-A: b\r\n\r\n"));
  }
  EXPECT_EQ(origin.connections(), 1);
  ASSERT_EQ(gateway.decided().size(), 2u);
  EXPECT_EQ(gateway.decided()[0].path, "/one");
  EXPECT_EQ(gateway.decided()[0].method, "GET");
  client.shut();
  EXPECT_EQ(client.read_all(), "");
  gateway.wait_for_closed(1);
}

TEST(HttpFlow, InterceptsTlsAndPutsSecretsIn) {
  Origin origin(echo, "api.example.org");
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {
      {"TOKEN", "ghp_placeholder123456", "ghp_realvalue99999999", {"api.example.org"}, {"authorization"}}};
  std::string seen;
  Origin recorder(
      [&](Wire& wire) {
        seen = wire.read_head();
        wire.write(with_body(seen));
      },
      "api.example.org");
  gateway.servers["api.example.org"] = recorder.port();
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write("GET / HTTP/1.1\r\nHost: api.example.org\r\nAuthorization: Bearer ghp_placeholder123456\r\n\r\n");
  const std::string echoed = body_of_next(client);
  EXPECT_THAT(seen, HasSubstr("Authorization: Bearer ghp_realvalue99999999\r\n"));
  EXPECT_THAT(seen, HasSubstr("Accept-Encoding: identity\r\n"));
  EXPECT_THAT(echoed, HasSubstr("Authorization: Bearer ghp_placeholder123456\r\n"));
  EXPECT_THAT(echoed, Not(HasSubstr("realvalue")));
}

}  // namespace
}  // namespace cove::net
