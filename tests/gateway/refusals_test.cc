#include "gateway/fixture.h"
#include "net/gateway/test_hello.h"

// Ways around a policy, through a real gateway: none gets a byte out.
namespace cove::test {
namespace {

using namespace net::testing;
using Stage = net::NetworkEntry::Stage;

class Refusals : public GatewayFixture {
 protected:
  // The server was not called, or only by a connection on which nothing arrives.
  void expect_untouched(Server& server) {
    while (server.is_called()) EXPECT_EQ(server.accept().receive_rest(), "");
  }
  static constexpr std::string_view kAlert{"\x15\x03\x01\x00\x02\x02\x31", 7};  // access_denied
};

TEST_F(Refusals, TlsWithTheNamePasses) {
  Server server;
  allow({"web.example.org"});
  for (int padding : {0, 17'000, 60'000}) {
    std::string hello = hello_for(kWeb, padding);
    Peer client = dial(kWeb, server.port());
    client.send(hello);
    Peer accepted = server.accept();
    EXPECT_TRUE(accepted.receive(hello.size()) == hello) << padding;
  }
}

TEST_F(Refusals, TlsWithTheNameInPiecesPasses) {
  Server server;
  allow({"web.example.org"});
  std::string hello = in_records(hello_for(kWeb), 50);
  Peer client = dial(kWeb, server.port());
  Peer accepted = server.accept();
  client.send(hello.substr(0, 1));
  EXPECT_FALSE(accepted.has_bytes(50));
  client.send(hello.substr(1, 99));
  EXPECT_FALSE(accepted.has_bytes(50));
  client.send(hello.substr(100));
  EXPECT_EQ(accepted.receive(hello.size()), hello);
}

TEST_F(Refusals, TlsWithAnotherNameIsAnAlert) {
  Server server;
  allow({"web.example.org", "other.example.org"});
  for (const char* name : {"other.example.org", "evil.example.net"}) {
    Peer client = dial(kWeb, server.port());
    client.send(hello_for(name));
    EXPECT_EQ(client.receive_rest(), kAlert);
    EXPECT_EQ(client.end(), 0);
  }
  EXPECT_TRUE(logged(Stage::Denied, "name_mismatch"));
  expect_untouched(server);
}

TEST_F(Refusals, TlsWithAnotherNameInPiecesIsAnAlert) {
  Server server;
  allow({"web.example.org"});
  std::string hello = in_records(hello_for("evil.example.net", 10'000), 1000);
  Peer client = dial(kWeb, server.port());
  for (size_t at = 0; at < hello.size(); at += 999) client.send(hello.substr(at, 999));
  EXPECT_EQ(client.receive_rest(), kAlert);
  expect_untouched(server);
}

TEST_F(Refusals, AnEncryptedClientHelloIsAnAlert) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  client.send(with_extension(hello_for(kWeb), 0xfe0d, std::string(64, 'e')));
  EXPECT_EQ(client.receive_rest(), kAlert);
  EXPECT_TRUE(logged(Stage::Denied, "protocol"));
  expect_untouched(server);
}

TEST_F(Refusals, AnEncryptedClientHelloPassesInTheFullTiers) {
  Server server;
  NetworkPolicy policy = standard({"127.0.0.1"});
  policy.tier = NetworkTier::Elevated;
  set_policy(policy);
  std::string hello = with_extension(hello_for(kWeb), 0xfe0d, std::string(64, 'e'));
  Peer client = dial(kWeb, server.port());
  client.send(hello);
  EXPECT_EQ(server.accept().receive(hello.size()), hello);
}

TEST_F(Refusals, WhatOnlyBeginsLikeTlsIsReset) {
  Server server;
  allow({"web.example.org"});
  for (auto text :
       {std::string("\x16\x05\x01\x00\x02\x01\x00", 7), std::string("\x16garbage"), hello_for(kWeb).substr(0, 60)}) {
    Peer client = dial(kWeb, server.port());
    client.send(text);
    client.shut();
    EXPECT_EQ(client.end(), ECONNRESET);
  }
  expect_untouched(server);
}

TEST_F(Refusals, ANameThatIsNotAllowedIsNotFound) {
  allow({"web.example.org"});
  EXPECT_FALSE(look_up("other.example.org"));
  EXPECT_FALSE(look_up("sub.web.example.org"));
  EXPECT_TRUE(look_up("WEB.example.ORG"));
}

TEST_F(Refusals, LearningStaysWithinBounds) {
  NetworkPolicy bound = standard({"web.example.org"}), own = standard({});
  own.learn = true;
  net::EffectivePolicy policy{.version = 9, .layers = {}, .learn = true};
  policy.layers = {{"project", net::PolicyLayer::Role::Bound, bound}, {"sandbox", net::PolicyLayer::Role::Own, own}};
  ASSERT_TRUE(gateway().set_policy(kSandbox, policy));
  EXPECT_TRUE(look_up("web.example.org"));
  EXPECT_FALSE(look_up("other.example.org"));
  Peer client = dial(net::parse_address("198.51.100.7").value(), 22);
  client.send("SSH-2.0-x\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  policy.layers.erase(policy.layers.begin());
  ASSERT_TRUE(gateway().set_policy(kSandbox, policy));
  EXPECT_TRUE(look_up("other.example.org"));
}

TEST_F(Refusals, APortThatIsNotAllowedIsReset) {
  Server server, other;
  allow({"web.example.org:" + std::to_string(other.port())});
  Peer client = dial(kWeb, server.port());
  client.send("SSH-2.0-x\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "not_allowed"));
  expect_untouched(server);
}

TEST_F(Refusals, AnAddressThatIsNotAllowedIsReset) {
  allow({"web.example.org"});
  for (const char* address : {"198.51.100.7", "169.254.169.254", "10.0.0.1", "2001:db8::7", "fd00:ec2::254"}) {
    Peer client = dial(net::parse_address(address).value(), 22);
    client.send("SSH-2.0-x\r\n");
    EXPECT_EQ(client.end(), ECONNRESET) << address;
  }
  EXPECT_TRUE(logged(Stage::Denied));
  EXPECT_FALSE(logged(Stage::Denied, "protocol"));
  EXPECT_EQ(dial(net::parse_address(kGatewayAddress4).value(), 22).end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "protocol"));
}

TEST_F(Refusals, AnAddressWithTheNameOfAnotherServerLeadsToThatServer) {
  Server server;
  allow({"web.example.org"});
  std::string hello = hello_for(kWeb);
  Peer client = dial(net::parse_address("198.51.100.7").value(), server.port());
  client.send(hello);
  EXPECT_EQ(server.accept().receive(hello.size()), hello);
  Peer other = dial(net::parse_address("198.51.100.7").value(), server.port());
  other.send(hello_for("evil.example.net"));
  EXPECT_EQ(other.receive_rest(), kAlert);
}

TEST_F(Refusals, ASyntheticAddressThatWasNotGivenOutIsReset) {
  allow({"web.example.org"});
  Peer client = dial(net::parse_address("198.18.77.77").value(), 22);
  client.send("SSH-2.0-x\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "needs_name"));
}

TEST_F(Refusals, AnotherHostInARequestIsForbidden) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  client.send("GET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n");
  EXPECT_EQ(client.receive(12), "HTTP/1.1 403");
  expect_untouched(server);
}

TEST_F(Refusals, AnotherHostInTheSecondRequestIsNotForwarded) {
  Server server;
  allow({"web.example.org"});
  std::string port = std::to_string(server.port());
  Peer client = dial(kWeb, server.port());
  client.send("GET /1 HTTP/1.1\r\nHost: web.example.org:" + port +
              "\r\n\r\nGET /2 HTTP/1.1\r\nHost: evil.example.net\r\n\r\n");
  client.shut();
  Peer accepted = server.accept();
  std::string request;
  while (!request.ends_with("\r\n\r\n")) request += accepted.receive(1);
  accepted.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.receive(15), "HTTP/1.1 200 OK");
  std::string rest = client.receive_rest();
  EXPECT_NE(rest.find("HTTP/1.1 403"), rest.npos) << rest;
  EXPECT_EQ(accepted.receive_rest(), "");
}

TEST_F(Refusals, RequestsThatOnlySomeServersTakeAreReadToo) {
  Server server;
  allow({"web.example.org"});
  for (auto request :
       {"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n",
        "get / http/1.1\nhost: evil.example.net\n\n", "GET http://evil.example.net/\r\n"}) {
    Peer client = dial(kWeb, server.port());
    client.send(request);
    client.shut();
    std::string answer = client.receive_rest();
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << request << answer;
  }
  expect_untouched(server);
}

TEST_F(Refusals, ARequestThatComesSlowlyNeverBecomesOne) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  Peer accepted = server.accept();
  client.send("GET / HT");
  EXPECT_EQ(accepted.receive(8), "GET / HT");  // after a while
  client.send("TP/1.");
  EXPECT_EQ(accepted.receive(5), "TP/1.");
  client.send("1\r\nHost: evil.example.net\r\n\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_EQ(accepted.receive_rest(), "");
  EXPECT_TRUE(logged(Stage::Denied, "protocol"));
}

TEST_F(Refusals, Http2WithoutTlsIsReset) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_TRUE(logged(Stage::Denied, "protocol"));
  expect_untouched(server);
}

TEST_F(Refusals, ARequestAfterABannerIsReset) {
  Server server;
  allow({"web.example.org"});
  Peer client = dial(kWeb, server.port());
  Peer accepted = server.accept();
  accepted.send("banner");
  EXPECT_EQ(client.receive(6), "banner");
  client.send("GET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n");
  EXPECT_EQ(client.end(), ECONNRESET);
  EXPECT_EQ(accepted.receive_rest(), "");
}

TEST_F(Refusals, TheNameThatPostgreSqlNamesLaterCounts) {
  Server server;
  allow({"db.example.org"});
  const std::string query("\x00\x00\x00\x08\x04\xd2\x16\x2f", 8);
  for (bool right : {true, false}) {
    Peer client = dial("db.example.org", server.port());
    client.send(query);
    Peer accepted = server.accept();
    EXPECT_EQ(accepted.receive(8), query);
    accepted.send("S");
    EXPECT_EQ(client.receive(1), "S");
    std::string hello = hello_for(right ? "db.example.org" : "evil.example.net");
    client.send(hello);
    EXPECT_EQ(accepted.receive(hello.size()), right ? hello : "");
  }
  EXPECT_TRUE(logged(Stage::Denied, "name_mismatch"));
}

TEST_F(Refusals, ATunnelToAnotherPortIsForbidden) {
  Server server, other;
  allow({"web.example.org:" + std::to_string(other.port())});
  std::string status;
  dial_proxy(kWeb, server.port(), &status);
  EXPECT_TRUE(status.starts_with("HTTP/1.1 403")) << status;
  expect_untouched(server);
}

TEST_F(Refusals, ATunnelWithAnotherNameInItIsAnAlert) {
  Server server;
  allow({"web.example.org", "other.example.org"});
  std::string status;
  Peer client = dial_proxy(kWeb, server.port(), &status);
  EXPECT_TRUE(status.starts_with("HTTP/1.1 200")) << status;
  client.send(hello_for("other.example.org"));
  EXPECT_EQ(client.receive_rest(), kAlert);
  expect_untouched(server);
}

TEST_F(Refusals, RulesAboutRequestsLetNothingElseThrough) {
  Server server;
  allow({"GET web.example.org"});
  for (std::string text :
       {std::string("SSH-2.0-x\r\n"), hello_for(kWeb), std::string("\0\0\0\x08\x04\xd2\x16\x2f", 8)}) {
    Peer client = dial(kWeb, server.port());
    client.send(text);
    std::string answer = client.receive_rest();
    EXPECT_TRUE(answer.empty() || answer == kAlert);
  }
  EXPECT_FALSE(server.is_called());
  EXPECT_TRUE(logged(Stage::Denied, "protocol"));
}

TEST_F(Refusals, ManyConnectionsThatSayNothingGiveWay) {
  Server server;
  allow({"GET web.example.org", "db.example.org"});
  auto web = look_up(kWeb), db = look_up("db.example.org");
  ASSERT_TRUE(web && db);
  std::vector<Peer> silent;
  for (uint64_t i = 0; i < settings_.connections + 10; ++i) silent.push_back(dial(*web, 80));
  Peer client = dial(*db, server.port());
  client.send("hello\n");
  EXPECT_EQ(server.accept().receive(6), "hello\n");
  EXPECT_TRUE(logged(Stage::Denied, "too_many"));
}

}  // namespace
}  // namespace cove::test
