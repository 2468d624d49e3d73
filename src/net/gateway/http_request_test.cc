#include "net/gateway/http_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "net/gateway/http_exchange.h"

namespace cove::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::expected<HttpRequest, http1::Malformed> parse(std::string_view text, TargetForm form = TargetForm::Origin) {
  http1::HeadReader reader(kMostHead);
  auto whole = reader.feed(text);
  if (!whole) return std::unexpected(whole.error());
  if (!*whole) return http1::malformed("not whole");
  return parse_request(reader, form);
}

int status(const std::string& text, TargetForm form = TargetForm::Origin) {
  auto request = parse(text, form);
  return request ? 0 : request.error().status;
}

std::string get(std::string_view headers, std::string_view target = "/") {
  return concat("GET ", target, " HTTP/1.1\r\n", headers, "\r\n");
}

TEST(HttpRequest, RefusesWhatTwoServersCouldTakeInTwoWays) {
  const std::string h = "Host: a.example.org\r\n";
  for (const std::string& headers : {h + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                     h + "Content-Length: 5\r\nContent-Length: 6\r\n",
                                     h + "Content-Length: 5\r\nContent-Length: 5\r\n",
                                     h + "Content-Length: 5, 5\r\n",
                                     h + "Content-Length: +5\r\n",
                                     h + "Content-Length: 0x5\r\n",
                                     h + "Content-Length: -1\r\n",
                                     h + "Content-Length: 5 5\r\n",
                                     h + "Content-Length: 99999999999999999999\r\n",
                                     h + "Content-Length:\r\n",
                                     h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                     h + "Transfer-Encoding : chunked\r\n",
                                     h + "Transfer-Encoding: chunked\r\n folded\r\n",
                                     h + " X: folded\r\n",
                                     h + "X\r\n",
                                     h + "X y: z\r\n",
                                     h + ": z\r\n",
                                     h + "X: a\nY: b\r\n",
                                     h + "X: a\rb\r\n",
                                     h + std::string("X: a\0b\r\n", 8),
                                     h + "X: a\x7f\r\n",
                                     h + h,
                                     h + "host: b.example.org\r\n",
                                     std::string(),
                                     std::string("Host: \r\n"),
                                     std::string("Host: a.example.org, b.example.org\r\n"),
                                     std::string("Host: user@a.example.org\r\n"),
                                     std::string("Host: a.example.org:\r\n"),
                                     std::string("Host: a.example.org:0\r\n"),
                                     std::string("Host: a.example.org:99999\r\n"),
                                     std::string("Host: a.example.org:80:80\r\n"),
                                     std::string("Host: a.example.org/\r\n"),
                                     std::string("Host: 0x7f.1\r\n"),
                                     std::string("Host: 2130706433\r\n"),
                                     std::string("Host: 0177.0.0.1\r\n"),
                                     std::string("Host: [::1\r\n"),
                                     std::string("Host: ::1\r\n"),
                                     std::string("Host: a%2eexample.org\r\n"),
                                     h + "Connection: close, content-length\r\n",
                                     h + "Connection: host\r\n",
                                     h + "Connection: transfer-encoding\r\n"})
    EXPECT_EQ(status(get(headers)), 400) << headers;
  EXPECT_EQ(status(get(h + "Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(status(get(h + "Transfer-Encoding: xchunked\r\n")), 501);
  EXPECT_EQ(status(get(h + "Transfer-Encoding: chunked;q=1\r\n")), 501);
  EXPECT_EQ(status("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(status(get(h + "Expect: 200-ok\r\n")), 417);
}

TEST(HttpRequest, RefusesMalformedTargetsAndLines) {
  const std::string h = "Host: a.example.org\r\n";
  for (const char* target : {"/a#b", "a", "*", "http://a.example.org/", "//a b", "http:/a", "a.example.org:443"})
    EXPECT_NE(status(get(h, target)), 0) << target;
  EXPECT_EQ(status(concat("PRI * HTTP/2.0\r\n\r\n")), 505);
  EXPECT_EQ(status(concat("GET / HTTP/1.2\r\n", h, "\r\n")), 505);
  EXPECT_EQ(status(concat("GET  / HTTP/1.1\r\n", h, "\r\n")), 400);
  EXPECT_EQ(status(concat("\r\nGET / HTTP/1.1\r\n", h, "\r\n")), 400);
  EXPECT_EQ(status(concat("GET / HTTP/1.1\n", h, "\r\n")), 400);
  EXPECT_EQ(status(concat("GET /", std::string(kMostHead, 'x'), " HTTP/1.1\r\n", h, "\r\n")), 414);
  EXPECT_EQ(status(get(concat(h, "X: ", std::string(kMostHead, 'x'), "\r\n"))), 431);
  EXPECT_EQ(status(concat("TRACE / HTTP/1.1\r\n", h, "\r\n")), 405);
  EXPECT_EQ(status(concat("CONNECT a.example.org:443 HTTP/1.1\r\n", h, "\r\n")), 405);
  EXPECT_EQ(status(concat("OPTIONS * HTTP/1.1\r\n", h, "\r\n")), 0);
}

TEST(HttpRequest, OfAProxyHasAnAbsoluteTarget) {
  auto request = parse(get("Host: A.Example.org:8080\r\n", "HTTP://a.example.org.:8080?x=1"), TargetForm::Absolute);
  ASSERT_TRUE(request) << request.error().reason;
  EXPECT_EQ(request->requested->name, "a.example.org");
  EXPECT_EQ(request->requested->port, 8080);
  EXPECT_EQ(request->head.target, "/?x=1");
  EXPECT_EQ(request->path, "/");
  EXPECT_EQ(status(get("Host: a.example.org\r\n", "http://a.example.org:80/"), TargetForm::Absolute), 0);
  EXPECT_EQ(status(get("Host: [::1]:81\r\n", "http://[::1]:81/"), TargetForm::Absolute), 0);
  for (const char* target :
       {"http://b.example.org/", "http://a.example.org:81/", "https://a.example.org/", "/", "ftp://a.example.org/",
        "http://", "http:///", "http://user@a.example.org/", "http://a.example.org\\@b.example.org/"})
    EXPECT_EQ(status(get("Host: a.example.org\r\n", target), TargetForm::Absolute), 400) << target;
}

std::string forwarded(const std::string& text, ForwardedHead how = {}) {
  auto request = parse(text);
  EXPECT_TRUE(request) << text;
  return request ? forwarded_head(*request, request->head, how) : "";
}

TEST(ForwardedHead, KeepsWhatIsForTheServer) {
  EXPECT_EQ(forwarded(get("X-One: 1\r\nHost: a.example.org\r\nx-two:  2 \r\nContent-Length: 0\r\n", "/a?b")),
            "GET /a?b HTTP/1.1\r\nHost: a.example.org\r\nX-One: 1\r\nx-two: 2\r\nContent-Length: 0\r\n\r\n");
}

TEST(ForwardedHead, DropsWhatIsForTheConnection) {
  const std::string head =
      forwarded(get("Host: a\r\nConnection: keep-alive, X-Mine, Upgrade\r\nX-Mine: 1\r\nKeep-Alive: 5\r\n"
                    "Proxy-Connection: x\r\nProxy-Authorization: y\r\nUpgrade: h2c\r\n"
                    "HTTP2-Settings: z\r\nTE: gzip\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_EQ(head, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_THAT(forwarded(get("Host: a\r\nTE: trailers, gzip\r\n")), HasSubstr("TE: trailers\r\nConnection: TE\r\n"));
}

TEST(ForwardedHead, AsksForReadableAnswers) {
  const std::string head = forwarded(get("Host: a\r\nAccept-Encoding: gzip, br\r\n"), {.identity = true});
  EXPECT_THAT(head, HasSubstr("Accept-Encoding: identity\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("gzip")));
}

TEST(ForwardedHead, UpgradesToWebSocketOnly) {
  const std::string head =
      get("Host: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
          "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: k\r\n");
  EXPECT_THAT(forwarded(head), HasSubstr("Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Key: k\r\n"
                                         "Upgrade: websocket\r\nConnection: Upgrade\r\n"));
  EXPECT_THAT(forwarded(head, {.identity = true}), Not(HasSubstr("Extensions")));
}

}  // namespace
}  // namespace cove::net
