#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>

#include "base/text.h"
#include "http1/chunked.h"
#include "net/gateway/flow_testing.h"
#include "net/gateway/http_flow.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Inside = HttpFlow::Inside;

const std::string kValue = "ghp_9f3Kq7v1xZr71bTu8wQ2", kPlaceholder = "ghp_placeholder01234567x";

BrokeredSecret token(std::vector<std::string> hosts = {"api.example.org"}) {
  return {"TOKEN", kPlaceholder, kValue, std::move(hosts), {"authorization", "x-api-key", "query"}};
}

// Takes one request for itself, and answers with what it is told to.
struct Recorder {
  explicit Recorder(std::function<std::string(const std::string& head)> answer)
      : origin(
            [this, answer](Wire& wire) {
              for (std::string head = wire.read_head(); !head.empty(); head = wire.read_head()) {
                {
                  std::lock_guard lock(mutex);
                  heads += head;
                }
                wire.write(answer(head));
              }
            },
            "api.example.org") {}
  std::mutex mutex;
  std::string heads;
  Origin origin;
};

TEST(HttpFlowTls, PutsSecretsInAndTakesThemOutOfAnswers) {
  Recorder recorder([](const std::string& head) { return with_body(head, concat("X-Echo: ", kValue, "\r\n")); });
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = recorder.origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get(concat("/?key=", kPlaceholder),
                   concat("Authorization: Bearer ", kPlaceholder, "\r\nX-Api-Key: ", kPlaceholder,
                          "\r\nX-Other: ", kPlaceholder, "\r\nAccept-Encoding: gzip\r\n")));
  const std::string head = client.read_head();
  EXPECT_THAT(head, HasSubstr(concat("X-Echo: ", kPlaceholder, "\r\n")));
  const std::string body = client.read_until("\r\n\r\n");
  EXPECT_THAT(recorder.heads, StartsWith(concat("GET /?key=", kValue, " HTTP/1.1\r\n")));
  EXPECT_THAT(recorder.heads, HasSubstr(concat("Authorization: Bearer ", kValue, "\r\n")));
  EXPECT_THAT(recorder.heads, HasSubstr(concat("X-Api-Key: ", kValue, "\r\n")));
  EXPECT_THAT(recorder.heads, HasSubstr(concat("X-Other: ", kPlaceholder, "\r\n")));
  EXPECT_THAT(recorder.heads, HasSubstr("Accept-Encoding: identity\r\n"));
  EXPECT_THAT(head + body, Not(HasSubstr(kValue)));
  EXPECT_THAT(body, HasSubstr(concat("Authorization: Bearer ", kPlaceholder, "\r\n")));
}

TEST(HttpFlowTls, PutsSecretsInForTheirHostsOnly) {
  Recorder recorder([](const std::string&) { return with_body("ok"); });
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = recorder.origin.port();
  gateway.policy_.secrets = {token({"other.example.org", "*.api.example.org", "api.example.org:8443"})};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/", concat("Authorization: Bearer ", kPlaceholder, "\r\n")));
  EXPECT_EQ(body_of_next(client), "ok");
  EXPECT_THAT(recorder.heads, HasSubstr(concat("Bearer ", kPlaceholder)));
  EXPECT_THAT(recorder.heads, Not(HasSubstr(kValue)));
}

// Parts of an answer that repeats the value could be too small to be recognized.
TEST(HttpFlowTls, AsksForNoPartsWhereItPutsSecretsIn) {
  Recorder recorder([](const std::string&) { return with_body("ok"); });
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = recorder.origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  const std::string range = "Range: bytes=7-9\r\nIf-Range: \"a\"\r\n";
  client.write(get("/", concat(range, "Authorization: Bearer ", kPlaceholder, "\r\n")));
  EXPECT_EQ(body_of_next(client), "ok");
  EXPECT_THAT(recorder.heads, HasSubstr(kValue));
  EXPECT_THAT(recorder.heads, Not(HasSubstr("Range")));
  client.write(get("/", range));
  EXPECT_EQ(body_of_next(client), "ok");
  EXPECT_THAT(recorder.heads, HasSubstr(range)) << "without a secret, parts may be asked for";
}

TEST(HttpFlow, PutsNoSecretsIntoCleartext) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect();
  client.write(get(concat("/?key=", kPlaceholder), concat("Authorization: Bearer ", kPlaceholder, "\r\n")));
  EXPECT_EQ(body_of_next(client),
            concat("GET /?key=", kPlaceholder, " HTTP/1.1\r\nHost: api.example.org\r\nAuthorization: Bearer ",
                   kPlaceholder, "\r\n\r\n"));
}

// Chunks and records end in the middle of the value.
TEST(HttpFlowTls, FindsValuesAcrossBorders) {
  Origin origin(
      [](Wire& wire) {
        wire.read_head();
        wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (char c : concat("<", kValue, ">")) wire.write(concat("1\r\n", c, "\r\n"));
        wire.write(concat("0\r\nX-Trailer: ", kValue, "\r\n\r\n"));
        wire.read_head();
      },
      "api.example.org");
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/"));
  client.read_head();
  const std::string body = client.read_until("\r\n\r\n");
  http1::ChunkedDecoder decoder(4096, http1::Padding::Refused);
  std::string decoded(4096, '\0');
  std::string_view input = body;
  decoded.resize(*decoder.feed(input, decoded));
  EXPECT_EQ(decoded, concat("<", kPlaceholder, ">"));
  ASSERT_EQ(decoder.trailers().size(), 1u);
  EXPECT_EQ(decoder.trailers()[0].second, kPlaceholder);
}

// What could be the beginning of a value is not held back from somebody who waits for it.
TEST(HttpFlowTls, DelaysNothingForGood) {
  std::promise<void> arrived;
  Origin origin(
      [&](Wire& wire) {
        wire.read_head();
        wire.write("HTTP/1.1 200 OK\r\n\r\ndata: ghp_9");
        arrived.get_future().wait();
      },
      "api.example.org");
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/"));
  client.read_head();
  EXPECT_EQ(client.read_exactly(11), "data: ghp_9");
  arrived.set_value();
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpFlowTls, RefusesAnswersThatCannotBeSearched) {
  Recorder recorder([](const std::string&) { return with_body("xyz", "Content-Encoding: gzip\r\n"); });
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = recorder.origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/"));
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 "));
  EXPECT_THAT(answer, HasSubstr("compressed (gzip)"));
}

TEST(HttpFlowTls, ScrubsWebSockets) {
  Origin origin(
      [](Wire& wire) {
        EXPECT_THAT(wire.read_head(), Not(HasSubstr("deflate")));
        wire.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
        wire.write(concat("\x81\x18", kValue));
        wire.read_all();
      },
      "api.example.org");
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(
      get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"));
  client.read_head();
  EXPECT_EQ(client.read_exactly(2 + kValue.size()), concat("\x81\x18", kPlaceholder));
  client.shut();
  client.read_all();
}

struct Outside {
  const char* what;
  const char* name;  // of the certificate
  const EffectivePolicy* authority;
  const char* why;
};
TEST(HttpFlowTls, SendsNothingToServersThatItCannotTrust) {
  const EffectivePolicy stranger = policy_with_authority("stranger");
  for (const Outside& each : {Outside{"another name", "other.example.org", &world_authority(), "hostname mismatch"},
                              Outside{"a parent", "example.org", &world_authority(), "hostname mismatch"},
                              Outside{"another authority", "api.example.org", &stranger, "issuer certificate"}}) {
    std::atomic<bool> reached = false;
    Origin origin([&](Wire&) { reached = true; }, each.name, *each.authority);
    TestGateway gateway(Inside::Tls);
    gateway.servers["api.example.org"] = origin.port();
    gateway.policy_.secrets = {token()};
    gateway.start();
    Wire client = gateway.connect_tls();
    ASSERT_TRUE(client.handshake());
    client.write(get("/", concat("Authorization: Bearer ", kPlaceholder, "\r\n")));
    const std::string answer = client.read_all();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 ")) << each.what;
    EXPECT_THAT(answer, HasSubstr("certificate is not valid")) << each.what;
    EXPECT_THAT(answer, HasSubstr(each.why)) << each.what;
    ASSERT_EQ(gateway.failures().size(), 1u);
    EXPECT_EQ(gateway.failures()[0].second.code, "upstream");
    EXPECT_FALSE(reached) << each.what;
  }
}

TEST(HttpFlowTls, NeverSpeaksCleartextInstead) {
  std::string received;
  {
    Origin origin([&](Wire& wire) {
      received = wire.read_some();
      wire.write("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    TestGateway gateway(Inside::Tls);
    gateway.servers["api.example.org"] = origin.port();
    gateway.policy_.secrets = {token()};
    gateway.start();
    Wire client = gateway.connect_tls();
    ASSERT_TRUE(client.handshake());
    client.write(get("/", concat("Authorization: Bearer ", kPlaceholder, "\r\n")));
    EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 502 "));
  }
  EXPECT_THAT(received, Not(HasSubstr("HTTP/1.1")));
  EXPECT_THAT(received, Not(HasSubstr("Bearer")));
}

TEST(HttpFlowTls, TellsOfClientsThatDoNotTrustTheSandbox) {
  TestGateway gateway(Inside::Tls);
  gateway.start();
  auto stranger = std::move(*GatewayTls::create());
  Wire client(connect_to_loopback(gateway.port()), std::move(*stranger->new_client("api.example.org")));
  EXPECT_FALSE(client.handshake());
  gateway.wait_for_closed(1);
  ASSERT_EQ(gateway.failures().size(), 1u);
  EXPECT_EQ(gateway.failures()[0].second.code, "client_tls");
  EXPECT_EQ(gateway.failures()[0].first.name, "api.example.org");
  EXPECT_THAT(gateway.failures()[0].second.why, HasSubstr("unknown ca"));
}

TEST(HttpFlowTls, RefusesOtherNamesAndProtocols) {
  TestGateway gateway(Inside::Tls);
  gateway.start();
  Wire other = gateway.connect_tls("other.example.org");
  EXPECT_FALSE(other.handshake());
  EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), SSL_R_TLSV1_ALERT_ACCESS_DENIED);
  Wire h2 = gateway.connect_tls();
  const unsigned char kH2[] = "\x02h2";
  SSL_set_alpn_protos(h2.session(), kH2, 3);
  ERR_clear_error();
  EXPECT_FALSE(h2.handshake());
  EXPECT_EQ(ERR_GET_REASON(ERR_get_error()), SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL);
  Wire both = gateway.connect_tls();
  const unsigned char kBoth[] = "\x02h2\x08http/1.1";
  SSL_set_alpn_protos(both.session(), kBoth, 12);
  ASSERT_TRUE(both.handshake());
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(both.session(), &chosen, &size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
  gateway.wait_for_closed(2);
}

TEST(HttpFlowTls, RefusesToReflectRequests) {
  Recorder recorder([](const std::string& head) { return with_body(head); });
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = recorder.origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write("TRACE / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(recorder.heads, "");
}

TEST(HttpFlowTls, RefusesAnotherHostWithinTheConnection) {
  Recorder recorder([](const std::string&) { return with_body("ok"); });
  TestGateway gateway(Inside::Tls);
  gateway.servers = {{"api.example.org", recorder.origin.port()}, {"other.example.org", recorder.origin.port()}};
  gateway.policy_.secrets = {token()};
  gateway.start();
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/", "", "other.example.org"));
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 421 "));
  EXPECT_EQ(recorder.heads, "");
}

// 200 MB of what is searched for values; the process holds no more of it at its end.
TEST(HttpFlowTls, MovesMuchWithoutHoldingIt) {
  constexpr size_t kPiece = 1'000'000, kPieces = 200;
  Origin origin(
      [&](Wire& wire) {
        wire.read_head();
        wire.write(concat("HTTP/1.1 200 OK\r\nContent-Length: ", kPiece * kPieces, "\r\n\r\n"));
        const std::string piece(kPiece, 'g');
        for (size_t i = 0; i < kPieces; ++i) wire.write(piece);
        wire.read_head();
      },
      "api.example.org");
  TestGateway gateway(Inside::Tls);
  gateway.servers["api.example.org"] = origin.port();
  gateway.policy_.secrets = {token()};
  gateway.start();
  auto resident = [] {
    std::ifstream file("/proc/self/statm");
    long pages = 0;
    file >> pages >> pages;
    return pages * 4096;
  };
  Wire client = gateway.connect_tls();
  ASSERT_TRUE(client.handshake());
  client.write(get("/"));
  client.read_head();
  size_t count = client.read_exactly(kPiece).size();
  const long before = resident();
  for (size_t i = 1; i < kPieces; ++i) count += client.read_exactly(kPiece).size();
  EXPECT_EQ(count, kPiece * kPieces);
  EXPECT_LT(resident() - before, 8'000'000);
}

}  // namespace
}  // namespace cove::net
