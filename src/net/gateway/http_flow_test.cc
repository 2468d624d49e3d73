#include "net/gateway/http_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/json.h"
#include "base/text.h"
#include "net/gateway/flow_testing.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Inside = HttpFlow::Inside;

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

TEST(HttpFlow, RefusesADeniedRequestAndKeepsTheConnection) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.decides = [](const Target& target) { return target.method == "POST" ? deny() : allow(); };
  gateway.start();
  Wire client = gateway.connect();
  client.write(
      concat("POST /up?secret=1 HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: 5\r\n\r\nhello", get("/next")));
  const std::string head = client.read_head();
  EXPECT_EQ(status_of(head), 403) << head;
  EXPECT_THAT(head, Not(HasSubstr("close")));
  auto body = Json::parse(client.read_until("}\n"));
  ASSERT_TRUE(body);
  EXPECT_EQ((*body)["error"], Json("not_allowed"));
  EXPECT_EQ((*body)["method"], Json("POST"));
  EXPECT_EQ((*body)["path"], Json("/up"));
  EXPECT_EQ((*body)["layer"], Json("sandbox"));
  EXPECT_EQ((*body)["rule_missing"], Json("api.example.org:80"));
  EXPECT_THAT((*body)["hint"].as_string(), HasSubstr("http://cove.internal/"));
  EXPECT_THAT(body_of_next(client), StartsWith("GET /next "));
}

TEST(HttpFlow, RefusesWithoutWaitingForABodyThatIsHeldBack) {
  TestGateway gateway(Inside::Cleartext);
  gateway.decides = [](const Target&) { return deny(); };
  gateway.start();
  Wire client = gateway.connect();
  client.write("PUT / HTTP/1.1\r\nHost: api.example.org\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_THAT(client.read_all(), ::testing::AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("Connection: close\r\n")));
}

TEST(HttpFlow, DecidesOnAnotherHostAnewAndSendsNothingThere) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext);
  gateway.servers = {{"api.example.org", origin.port()}, {"other.example.org", origin.port()}};
  gateway.decides = [](const Target& target) { return target.name == "evil.example.org" ? deny() : allow(); };
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/1") + get("/2", "", "evil.example.org") + get("/3", "", "other.example.org") + get("/4"));
  EXPECT_THAT(body_of_next(client), StartsWith("GET /1 "));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_until("}\n");
  EXPECT_EQ(status_of(client.read_head()), 421);
  EXPECT_THAT(client.read_all(), Not(HasSubstr("/4")));
  ASSERT_EQ(gateway.decided().size(), 3u);
  EXPECT_EQ(gateway.decided()[1].name, "evil.example.org");
  EXPECT_EQ(gateway.decided()[2].name, "other.example.org");
  ASSERT_EQ(gateway.failures().size(), 1u);
  EXPECT_EQ(gateway.failures()[0].second.code, "protocol");
  EXPECT_EQ(origin.connections(), 1);
}

TEST(HttpFlow, AnswersMalformedRequestsItself) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\nHost: api.example.org\n\n"), std::string("GET / HTTP/1.1\r\n\r\n"),
        get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), std::string("\x16\x03\x01 garbage\r\n\r\n")})
    EXPECT_THAT(conversation(gateway, bytes), StartsWith("HTTP/1.1 400 ")) << bytes;
  EXPECT_THAT(conversation(gateway, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
  EXPECT_EQ(conversation(gateway, "GET / HT"), "");
  EXPECT_EQ(conversation(gateway, ""), "");
  EXPECT_EQ(origin.connections(), 0);
}

// The server is sent what the gateway understood, and nothing behind it.
TEST(HttpFlow, WritesChunksAndTrailersAnew) {
  std::string received;
  Origin origin([&](Wire& wire) {
    received = wire.read_head();
    received += wire.read_until("\r\n\r\n");
    wire.write(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
        "3;x=y\r\nabc\r\n2 \r\nde\r\n0\r\nX-Sum: 5\r\nHost: evil\r\n\r\n");
    wire.read_head();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(
      "POST / HTTP/1.1\r\nHost: api.example.org\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;ext=\"a;b\"\r\nwxyz\r\n0\r\nX-T: 1\r\nConnection: x\r\n\r\n");
  std::string answer = client.read_head();
  answer += client.read_until("\r\n\r\n");
  EXPECT_THAT(received, ::testing::EndsWith("\r\n\r\n4\r\nwxyz\r\n0\r\nX-T: 1\r\n\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n"));
}

TEST(HttpFlow, RefusesChunksThatAreMalformed) {
  for (const char* body : {"zz\r\n", "5\nhello", "-1\r\n", "5 \r\nhello\r\n", "5\r\nhelloX\r\n",
                           "0\r\nContent-Length: 3\r\n\r\n", "ffffffffffffffffff\r\n"}) {
    Origin origin(echo);
    TestGateway gateway(Inside::Cleartext);
    gateway.servers["api.example.org"] = origin.port();
    gateway.decides = [](const Target&) { return allow(); };
    gateway.start();
    Wire client = gateway.connect();
    client.write(concat("POST / HTTP/1.1\r\nHost: api.example.org\r\nTransfer-Encoding: chunked\r\n\r\n", body));
    // The server may have answered the head before, as this one does.
    const std::string answer = client.read_all();
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 400 ") || client.error() == ECONNRESET)
        << body << answer;
  }
}

TEST(HttpFlow, OfAProxyConnectsToTheNamedHosts) {
  Origin a([](Wire& wire) {
    while (!wire.read_head().empty()) wire.write(with_body("a"));
  });
  Origin b([](Wire& wire) {
    while (!wire.read_head().empty()) wire.write(with_body("b"));
  });
  TestGateway gateway(Inside::Proxy);
  gateway.servers = {{"a.example.org", a.port()}, {"b.example.org", b.port()}, {"192.0.2.7", b.port()}};
  gateway.decides = [](const Target& target) { return target.name == "evil.example.org" ? deny() : allow(); };
  gateway.start();
  Wire client = gateway.connect();
  auto ask = [&](const char* host) {
    client.write(get(concat("http://", host, "/x"), "", host));
    return body_of_next(client);
  };
  EXPECT_EQ(ask("a.example.org"), "a");
  EXPECT_EQ(ask("a.example.org"), "a");
  EXPECT_EQ(ask("b.example.org:8080"), "b");
  EXPECT_THAT(ask("evil.example.org"), HasSubstr("not_allowed"));
  EXPECT_EQ(ask("192.0.2.7"), "b");
  EXPECT_EQ(a.connections(), 1);
  EXPECT_EQ(gateway.decided()[2].port, 8080);
  client.write("CONNECT a.example.org:443 HTTP/1.1\r\nHost: a.example.org:443\r\n\r\n");
  EXPECT_EQ(status_of(client.read_all()), 405);
}

TEST(HttpFlow, ToAnAddressDecidesOnTheNamedHostToo) {
  Origin origin(echo);
  TestGateway gateway(Inside::Cleartext, "", 80);
  gateway.address = *parse_address("192.0.2.7");
  gateway.servers["192.0.2.7"] = origin.port();
  gateway.decides = [](const Target& target) { return target.name == "blocked.example.org" ? deny() : allow(); };
  gateway.start();
  EXPECT_THAT(conversation(gateway, get("/", "", "192.0.2.7")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(conversation(gateway, get("/", "", "open.example.org")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(conversation(gateway, get("/", "", "blocked.example.org")), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(conversation(gateway, get("/", "", "192.0.2.8")), StartsWith("HTTP/1.1 421 "));
}

TEST(HttpFlow, TellsWhyItCannotConnect) {
  TestGateway gateway(Inside::Proxy);
  gateway.servers["private.example.org"] = 1;
  gateway.start();
  EXPECT_THAT(conversation(gateway, get("http://nowhere.example.org/", "", "nowhere.example.org")),
              ::testing::AllOf(StartsWith("HTTP/1.1 502 "), HasSubstr("no such server")));
  EXPECT_THAT(conversation(gateway, get("http://private.example.org/", "", "private.example.org")),
              ::testing::AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("its address is private")));
}

TEST(HttpFlow, UpgradesToWebSocket) {
  Origin origin([](Wire& wire) {
    EXPECT_THAT(wire.read_head(), HasSubstr("Upgrade: websocket\r\nConnection: Upgrade\r\n"));
    wire.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: x\r\n\r\nhello");
    wire.write(wire.read_exactly(4));
    EXPECT_EQ(wire.read_all(), "");
    wire.write("after");
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n"));
  EXPECT_THAT(client.read_head(),
              HasSubstr("Sec-WebSocket-Accept: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"));
  client.write("GET ");  // is no HTTP any more
  EXPECT_EQ(client.read_exactly(9), "helloGET ");
  client.shut();
  EXPECT_EQ(client.read_all(), "after");
  gateway.wait_for_closed(1);
}

TEST(HttpFlow, CutsBothSidesWhenItIsDestroyed) {
  std::string at_server = "x";
  int error = 0;
  {
    Origin origin([&](Wire& wire) {
      wire.read_head();
      wire.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
      at_server = wire.read_all();
      error = wire.error();
    });
    TestGateway gateway(Inside::Cleartext);
    gateway.servers["api.example.org"] = origin.port();
    gateway.start();
    Wire client = gateway.connect();
    client.write(get("/x"));
    client.read_until("abc");
    gateway.call([](auto& flows) {
      Target target = flows[0]->target();
      EXPECT_EQ(target.name, "api.example.org");
      EXPECT_EQ(target.path, "/x");
      flows.clear();
    });
    EXPECT_EQ(client.read_all(), "");
    EXPECT_EQ(client.error(), ECONNRESET);
  }
  EXPECT_EQ(at_server, "");
  EXPECT_EQ(error, ECONNRESET);
}

TEST(HttpFlow, EndsWhenTheBudgetIsUsedUp) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
    while (wire.write(std::string(100'000, 'x'))) continue;
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.budget = 1'000'000;
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/"));
  EXPECT_LT(client.read_all().size(), 3'000'000u);
  EXPECT_EQ(client.error(), ECONNRESET);
  gateway.wait_for_closed(1);
}

// A program that does not read what it asked for: the server is stopped, too.
TEST(HttpFlow, HoldsLittleForASlowClient) {
  std::promise<void> stopped;
  Origin origin([&](Wire& wire) {
    const timeval patience = {0, 500'000};
    wire.read_head();
    wire.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    ::setsockopt(wire.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (wire.write(std::string(100'000, 'x'))) continue;
    stopped.set_value();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/"));
  client.read_head();
  stopped.get_future().wait();
  EXPECT_LT(gateway.in_bytes(), 50'000'000u);  // what the kernel takes for both connections
}

}  // namespace
}  // namespace cove::net
