#include "net/gateway/proxy_handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "net/gateway/proxy_target.h"
#include "net/gateway/socks.h"
#include "net/gateway/test_context.h"
#include "sys/socket.h"

namespace cove::net::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::string_literals;
using Handshake = ProxyHandshake;

class ProxyTest : public ::testing::Test {
 protected:
  // What becomes of a client that sends these bytes, in pieces of that size.
  std::optional<ProxyOrder> run(Handshake::Protocol protocol, std::string_view bytes, size_t piece) {
    auto pair = sys::socketpair(SOCK_STREAM).value();
    std::optional<ProxyOrder> order;
    bool over = false;
    auto handshake = Handshake::start(context_, protocol, std::move(pair.second), [&](auto got) {
      over = true;
      order = std::move(got);
    });
    while (!bytes.empty() && !over) {
      size_t size = std::min(piece, bytes.size());
      ::send(pair.first.get(), bytes.data(), size, MSG_NOSIGNAL);
      bytes.remove_prefix(size);
      context_.wait_until([turned = false]() mutable { return std::exchange(turned, true); });
    }
    context_.wait_until([&] { return over; });
    handshake.reset();
    char buffer[8192];
    ssize_t size = ::recv(pair.first.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    received_.assign(buffer, size > 0 ? static_cast<size_t>(size) : 0);
    client_ = std::move(pair.first);
    return order;
  }
  std::optional<ProxyOrder> http(std::string_view bytes) { return run(Handshake::Protocol::Http, bytes, bytes.size()); }
  std::optional<ProxyOrder> socks(std::string_view bytes) {
    return run(Handshake::Protocol::Socks, bytes, bytes.size());
  }

  TestContext context_{policy_of(NetworkTier::Standard, {"www.example", "44.10.0.0/16:22"})};
  UniqueFd client_;
  std::string received_;
};

std::string connect_to(const std::string& target, const std::string& headers = "") {
  return "CONNECT " + target + " HTTP/1.1\r\n" + headers + "\r\n";
}
std::string socks_to(const std::string& host, char high = 1, char low = '\xbb') {
  return "\x05\x01\x00\x05\x01\x00\x03"s + static_cast<char>(host.size()) + host + high + low;
}

TEST_F(ProxyTest, ConnectIsReadHoweverItIsSplit) {
  std::string bytes = connect_to("WWW.example:443", "Host: www.example:443\r\nUser-Agent: x\r\n");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    auto order = run(Handshake::Protocol::Http, bytes, piece);
    ASSERT_TRUE(order) << piece;
    EXPECT_EQ(order->kind, ProxyOrder::Kind::Tunnel);
    EXPECT_EQ(order->target.name, "www.example");
    EXPECT_EQ(order->target.port, 443);
    EXPECT_EQ(order->bytes, "");
    EXPECT_EQ(received_, "") << "the core answers once it is connected";
    EXPECT_THAT(order->granted, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(order->unreachable, StartsWith("HTTP/1.1 502 "));
  }
}

TEST_F(ProxyTest, BytesBehindTheOrderAreHandedOn) {
  EXPECT_EQ(http(connect_to("www.example:443") + "\x16\x03\x01")->bytes, "\x16\x03\x01");
  EXPECT_EQ(socks(socks_to("www.example") + "SSH-2.0")->bytes, "SSH-2.0");
}

TEST_F(ProxyTest, OtherRequestsAreHandedOnWhole) {
  for (std::string bytes :
       {"GET http://www.example/ HTTP/1.1\r\nHost", "C", "COPY http://www.example/ HTTP/1.1\r\n", "\x16\x03"}) {
    if (bytes == "C") continue;  // may become CONNECT
    auto order = http(bytes);
    ASSERT_TRUE(order) << bytes;
    EXPECT_EQ(order->kind, ProxyOrder::Kind::Requests);
    EXPECT_EQ(order->bytes, bytes);
  }
}

TEST_F(ProxyTest, DenialsAreLegible) {
  EXPECT_FALSE(http(connect_to("evil.example:443")));
  EXPECT_THAT(received_, StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(received_, HasSubstr("evil.example"));
  EXPECT_EQ(context_.denied("evil.example"), 1u);
  EXPECT_FALSE(socks(socks_to("evil.example")));
  EXPECT_EQ(received_, "\x05\x00"s + SocksReader::reply(SocksReader::Reply::Denied));
  EXPECT_EQ(context_.denied("evil.example"), 2u);
}

TEST_F(ProxyTest, WhatIsWrittenAsAnAddressIsOne) {
  auto order = http(connect_to("44.10.1.2:22"));
  ASSERT_TRUE(order);
  EXPECT_EQ(order->target.name, "");
  EXPECT_EQ(order->target.address, ip("44.10.1.2"));
  EXPECT_EQ(socks(socks_to("44.10.1.2", 0, 22))->target.address, ip("44.10.1.2"));
  EXPECT_EQ(http(connect_to("[::ffff:44.10.1.2]:22"))->target.address, ip("44.10.1.2"));
}

TEST_F(ProxyTest, OddHostsAreRefusedAndLogged) {
  std::string hosts[] = {"0x2c.10.1.2", "739901698", "44.10.258", "www.example\0.evil"s, "www.example%00",
                         "*",           "a..b",      "-",         "user@www.example"};
  for (const auto& host : hosts) {
    size_t before = context_.recent_denials().size();
    EXPECT_FALSE(socks(socks_to(host, 0, 22))) << host;
    EXPECT_THAT(received_, HasSubstr("\x05\x02"s)) << host;
    EXPECT_EQ(context_.recent_denials().size(), before + 1) << host;
    EXPECT_FALSE(http(connect_to(host + ":22"))) << host;
    EXPECT_THAT(received_, StartsWith("HTTP/1.1 400 ")) << host;
    EXPECT_EQ(context_.recent_denials().size(), before + 2) << host;
    EXPECT_EQ(context_.recent_denials().back().why.find('\0'), std::string::npos);
  }
  for (std::string target : {"www.example", "www.example:", "www.example:0", "www.example:70000", "www.example:80x",
                             ":443", "http://www.example/", "::1:80"})
    EXPECT_FALSE(http(connect_to(target))) << target;
}

TEST_F(ProxyTest, WhatItIsNotForIsLogged) {
  const std::string cases[] = {
      "\x04\x01\x00\x50\x2c\x0a\x01\x02\x00"s, "\x05\x01\x00\x05\x02\x00\x01\x2c\x0a\x01\x02\x00\x50"s,
      "\x05\x01\x00\x05\x03\x00\x03\x0bwww.example\x00\x50"s, "\x05\x01\x01"s, "\x05\x01\x00\x05\x01\x00\x07"s};
  for (const auto& bytes : cases) {
    size_t before = context_.recent_denials().size();
    EXPECT_FALSE(socks(bytes));
    ASSERT_EQ(context_.recent_denials().size(), before + 1);
    EXPECT_EQ(context_.recent_denials().back().code, "protocol");
  }
  EXPECT_EQ(context_.denied("www.example"), 1u);
  EXPECT_EQ(context_.denied("44.10.1.2"), 1u);
  EXPECT_FALSE(http("CONNECT www.example:443 HTTP/1.1\r\nX: \x01\r\n\r\n"));
  EXPECT_EQ(context_.recent_denials().back().code, "malformed");
}

TEST_F(ProxyTest, HostMustBeTheTarget) {
  EXPECT_TRUE(http(connect_to("www.example:443", "Host: WWW.example\r\n")));
  EXPECT_FALSE(http(connect_to("www.example:443", "Host: evil.example:443\r\n")));
  EXPECT_THAT(received_, StartsWith("HTTP/1.1 400 "));
  EXPECT_FALSE(http(connect_to("www.example:443", "Host: www.example\r\nHost: www.example\r\n")));
}

TEST_F(ProxyTest, ASyntheticAddressIsItsName) {
  Address address = context_.names().address_of("www.example");
  EXPECT_EQ(http(connect_to(to_text(address) + ":443"))->target.name, "www.example");
  EXPECT_FALSE(http(connect_to("198.18.0.7:443"))) << "given to no name";
}

TEST_F(ProxyTest, TheInternalPageIsReachedThroughTheProxyToo) {
  EXPECT_EQ(http(connect_to("cove.internal:80"))->kind, ProxyOrder::Kind::Internal);
  EXPECT_EQ(socks(socks_to("10.0.2.3", 0, 80))->kind, ProxyOrder::Kind::Internal);
  EXPECT_FALSE(http(connect_to("cove.internal:443")));
}

TEST_F(ProxyTest, LargeHeadsAndClosedConnectionsEnd) {
  EXPECT_FALSE(http(connect_to("www.example:443", "X: " + std::string(20'000, 'x') + "\r\n")));
  auto pair = sys::socketpair(SOCK_STREAM).value();
  bool over = false;
  auto handshake = Handshake::start(context_, Handshake::Protocol::Socks, std::move(pair.second), [&](auto order) {
    over = true;
    EXPECT_FALSE(order);
  });
  pair.first.reset();
  context_.wait_until([&] { return over; });
}

}  // namespace
}  // namespace cove::net::testing
