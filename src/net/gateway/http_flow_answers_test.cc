#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/gateway/flow_testing.h"
#include "net/gateway/http_flow.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Inside = HttpFlow::Inside;

TEST(HttpFlow, PassesProvisionalAnswersOn) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    wire.write(with_body(wire.read_exactly(5)));
    wire.read_head();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write("PUT / HTTP/1.1\r\nHost: api.example.org\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.read_head(), "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  client.write("hello");
  EXPECT_EQ(body_of_next(client), "hello");
}

TEST(HttpFlow, KnowsAnswersWithoutBody) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    wire.read_head();
    wire.write("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n");
    wire.read_head();
    wire.write("HTTP/1.1 204 No Content\r\n\r\n");
    wire.read_head();
    wire.write(with_body("end"));
    wire.read_head();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write("HEAD / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
  EXPECT_THAT(client.read_head(), HasSubstr("Content-Length: 1000"));
  client.write(get("/"));
  EXPECT_EQ(status_of(client.read_head()), 304);
  client.write(get("/"));
  EXPECT_EQ(status_of(client.read_head()), 204);
  client.write(get("/"));
  EXPECT_EQ(body_of_next(client), "end");
  EXPECT_EQ(origin.connections(), 1);
}

TEST(HttpFlow, EndsABodyWithTheConnection) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/"));
  EXPECT_EQ(client.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end");
}

TEST(HttpFlow, GivesOldClientsNoChunks) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n");
    wire.read_head();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read_all(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
}

TEST(HttpFlow, DoesNotHideThatAnAnswerIsCutOff) {
  for (const char* answer : {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"}) {
    Origin origin([&](Wire& wire) {
      wire.read_head();
      wire.write(answer);
    });
    TestGateway gateway(Inside::Cleartext);
    gateway.servers["api.example.org"] = origin.port();
    gateway.start();
    Wire client = gateway.connect();
    client.write(get("/"));
    EXPECT_THAT(client.read_all(), HasSubstr("abc"));
    EXPECT_EQ(client.error(), ECONNRESET);
  }
}

TEST(HttpFlow, AnswersForServersThatCannotBeRead) {
  struct Case {
    const char* bytes;
    const char* why;
  };
  for (const Case& each :
       {Case{"", "unanswered"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabc", "Content-Length"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nabc", "both"},
        Case{"SSH-2.0-x\r\n\r\n", "first line"}, Case{"HTTP/1.1 101 Switching\r\n\r\nabc", "unasked"},
        Case{"HTTP/1.1 200 OK\nX: y\n\n", "CRLF"}}) {
    Origin origin([&](Wire& wire) {
      wire.read_head();
      wire.write(each.bytes);
    });
    TestGateway gateway(Inside::Cleartext);
    gateway.servers["api.example.org"] = origin.port();
    gateway.start();
    const std::string answer = conversation(gateway, get("/"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 502 ")) << each.bytes;
    EXPECT_THAT(answer, HasSubstr(each.why));
    ASSERT_EQ(gateway.failures().size(), 1u);
    EXPECT_EQ(gateway.failures()[0].second.code, "upstream");
  }
}

TEST(HttpFlow, GivesNoAnswerToTheWrongRequest) {
  Origin origin([](Wire& wire) {
    const std::string path = wire.read_head().substr(4, 2);
    wire.write(with_body(path) + with_body("smuggled"));
    wire.read_head();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/1") + get("/2"));
  EXPECT_EQ(body_of_next(client), "/1");
  EXPECT_EQ(body_of_next(client), "/2");
  EXPECT_EQ(origin.connections(), 2);
}

TEST(HttpFlow, EndsWithTheServersConnection) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write(with_body("one"));
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write(get("/1"));
  EXPECT_EQ(body_of_next(client), "one");
  EXPECT_EQ(client.read_all(), "");
  EXPECT_EQ(client.error(), 0);
}

TEST(HttpFlow, PassesAnEarlyAnswerOnWhileTheBodyIsSent) {
  Origin origin([](Wire& wire) {
    wire.read_head();
    wire.write("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
    wire.read_all();
  });
  TestGateway gateway(Inside::Cleartext);
  gateway.servers["api.example.org"] = origin.port();
  gateway.start();
  Wire client = gateway.connect();
  client.write("POST / HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: 1000000\r\n\r\nbegin");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(answer, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\nbig"));
}

}  // namespace
}  // namespace cove::net
