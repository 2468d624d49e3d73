#include "http/websocket.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <future>

#include "http/server.h"
#include "http/test_support.h"

namespace cove::http {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::masked_frame;
using testing::Reply;
using testing::TestServer;

constexpr uint8_t kText = 0x81, kBinary = 0x82, kClose = 0x88, kPing = 0x89, kPong = 0x8a;

// RFC 6455, 1.3.
const char kHandshake[] =
    "GET /echo HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

void echo(Exchange& exchange) {
  auto socket = exchange.upgrade({{"X-Extra", "1"}});
  if (!socket) return (void)exchange.respond(400, {}, socket.error().message());
  while ((*socket)->wait(-1, 10s) == WebSocket::Wake::Message) {
    auto message = (*socket)->receive();
    if (message->data == "bye") return (*socket)->close(4001, "as you like");
    if (message->data == "ping me") (void)(*socket)->ping();
    if (!(*socket)->send(message->kind, message->data)) return;
  }
}

struct Frame {
  uint8_t first = 0;
  std::string data;
};

Frame read_frame(Client& client) {
  std::string head = client.read_exactly(2);
  if (head.size() < 2) return {};
  uint64_t length = static_cast<uint8_t>(head[1]);
  if (length >= 126) {
    std::string more = client.read_exactly(length == 126 ? 2 : 8);
    length = 0;
    for (char byte : more) length = length << 8 | static_cast<uint8_t>(byte);
  }
  return {static_cast<uint8_t>(head[0]), client.read_exactly(length)};
}

uint16_t close_code(const Frame& frame) {
  if (frame.first != kClose || frame.data.size() < 2) return 0;
  return static_cast<uint16_t>(static_cast<uint8_t>(frame.data[0]) << 8 | static_cast<uint8_t>(frame.data[1]));
}

class WebSockets : public ::testing::Test {
 protected:
  Client connect() {
    Client client = Client::tcp(server_);
    Reply reply = client.ask(kHandshake);
    EXPECT_EQ(reply.status, 101);
    EXPECT_EQ(reply.headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    EXPECT_EQ(reply.headers["upgrade"], "websocket");
    EXPECT_EQ(reply.headers["x-extra"], "1");
    return client;
  }
  TestServer server_{[](Router& router) { router.add({"GET", "/echo", echo}); }};
};

TEST_F(WebSockets, EchoMessagesOfAllLengths) {
  Client client = connect();
  for (size_t length : {0, 5, 125, 126, 65535, 65536, 3'000'000}) {
    std::string data(length, 'x');
    client.send(masked_frame(length % 2 ? kText : kBinary, data));
    Frame frame = read_frame(client);
    EXPECT_EQ(frame.first, length % 2 ? kText : kBinary);
    EXPECT_EQ(frame.data, data);
  }
}

TEST_F(WebSockets, ComeWithTheHandshakeAndInFragments) {
  Client client = Client::local(server_);
  client.send(kHandshake + masked_frame(0x01, "frag") + masked_frame(kPing, "in between") + masked_frame(0x80, "ment") +
              masked_frame(kText, "next"));
  EXPECT_EQ(client.receive().status, 101);
  Frame pong = read_frame(client);
  EXPECT_EQ(pong.first, kPong);
  EXPECT_EQ(pong.data, "in between");
  EXPECT_EQ(read_frame(client).data, "fragment");
  EXPECT_EQ(read_frame(client).data, "next");
}

TEST_F(WebSockets, PingFromTheServer) {
  Client client = connect();
  client.send(masked_frame(kText, "ping me") + masked_frame(kPong, ""));
  EXPECT_EQ(read_frame(client).first, kPing);
  EXPECT_EQ(read_frame(client).data, "ping me");
}

TEST_F(WebSockets, AnswerAClose) {
  Client client = connect();
  client.send(masked_frame(kClose, "\x03\xe9going"));
  EXPECT_EQ(close_code(read_frame(client)), 1001);
  EXPECT_TRUE(client.ends());
}

TEST_F(WebSockets, CloseFromTheServer) {
  Client client = connect();
  client.send(masked_frame(kText, "bye"));
  Frame frame = read_frame(client);
  EXPECT_EQ(close_code(frame), 4001);
  EXPECT_EQ(frame.data.substr(2), "as you like");
  client.send(masked_frame(kClose, "\x0f\xa1"));
  EXPECT_TRUE(client.ends());
}

TEST_F(WebSockets, ViolationsCloseThem) {
  struct Case {
    std::string bytes;
    uint16_t code;
  };
  std::string too_long("\x82\xff\0\0\0\0\x01\0\0\x01mask", 14);
  for (auto& [bytes, code] : std::vector<Case>{{std::string("\x81\x02hi"), 1002},
                                               {masked_frame(kText, "\xff"), 1007},
                                               {too_long, 1009},
                                               {masked_frame(0x80, "x"), 1002}}) {
    Client client = connect();
    client.send(bytes);
    EXPECT_EQ(close_code(read_frame(client)), code);
    EXPECT_TRUE(client.ends());
  }
}

TEST_F(WebSockets, EndWhenThePeerGoes) {
  Client client = connect();
  client.close();
  server_->stop(10s);  // which waits for the handler
}

TEST_F(WebSockets, OtherRequestsAreNone) {
  Client client = Client::tcp(server_);
  EXPECT_EQ(client.get("/echo").status, 400);
  std::string old = kHandshake;
  old.replace(old.find("13\r\n"), 2, "8");
  Reply reply = client.ask(old);
  EXPECT_EQ(reply.status, 426);
  EXPECT_EQ(reply.headers["sec-websocket-version"], "13");
  std::string keyless = kHandshake;
  keyless.replace(keyless.find("dGhl"), 24, "short");
  EXPECT_EQ(client.ask(keyless).status, 400);
}

TEST(WebSocket, TakesTurnsWithADescriptor) {
  UniqueFd event(::eventfd(1, EFD_CLOEXEC));
  std::promise<std::string> order;
  TestServer server([&](Router& router) {
    router.add({"GET", "/echo", [&](Exchange& exchange) {
                  auto socket = exchange.upgrade().value();
                  std::string seen;
                  while (seen.size() < 6) {
                    auto wake = socket->wait(event.get(), 10s);
                    if (wake == WebSocket::Wake::Message) seen += socket->receive()->data;
                    if (wake == WebSocket::Wake::Fd) seen += 'f';  // which stays readable
                  }
                  order.set_value(seen);
                }});
  });
  Client client = Client::local(server);
  client.send(kHandshake + masked_frame(kText, "1") + masked_frame(kText, "2") + masked_frame(kText, "3"));
  std::string seen = order.get_future().get();
  EXPECT_EQ(seen, "1f2f3f");
}

TEST(WebSocket, KnowsWhoClosedAndWhoVanished) {
  for (bool closes : {true, false}) {
    std::promise<bool> closed;
    TestServer server([&](Router& router) {
      router.add({"GET", "/echo", [&](Exchange& exchange) {
                    auto socket = exchange.upgrade().value();
                    EXPECT_EQ(socket->wait(-1, 10s), WebSocket::Wake::Gone);
                    closed.set_value(socket->peer_closed());
                  }});
    });
    Client client = Client::local(server);
    EXPECT_EQ(client.ask(kHandshake).status, 101);
    if (closes) client.send(masked_frame(kClose, ""));
    client.close();
    EXPECT_EQ(closed.get_future().get(), closes);
  }
}

TEST(WebSocket, WakesForTimeAndStop) {
  std::promise<WebSocket::Wake> first, second;
  TestServer server([&](Router& router) {
    router.add({"GET", "/echo", [&](Exchange& exchange) {
                  auto socket = exchange.upgrade().value();
                  first.set_value(socket->wait(-1, 10ms));
                  second.set_value(socket->wait(-1, 10s));
                }});
  });
  Client client = Client::local(server);
  EXPECT_EQ(client.ask(kHandshake).status, 101);
  EXPECT_EQ(first.get_future().get(), WebSocket::Wake::Timeout);
  server->stop(10s);
  EXPECT_EQ(second.get_future().get(), WebSocket::Wake::Stopping);
  EXPECT_EQ(close_code(read_frame(client)), 1001);
}

}  // namespace
}  // namespace cove::http
