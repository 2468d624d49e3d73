#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/preview/admission.h"
#include "api/preview/cookies.h"
#include "api/preview/headers.h"
#include "api/preview/pages.h"
#include "auth/keys.h"

namespace cove::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNow = 1'763'246'400'000;
const std::string kSecret(32, 's');
const PreviewName kName{3000, "abc"};
const Passage kPassage{kName, "http", "3000-abc.localhost:7070"};
const std::string kOrigin = "http://3000-abc.localhost:7070";

http::Request request_of(std::string target, http::Headers headers, std::string method = "GET") {
  http::Request request;
  request.method = std::move(method);
  request.path = target.substr(0, target.find('?'));
  request.target = std::move(target);
  request.headers = std::move(headers);
  request.peer.address = "127.0.0.1:4711";
  return request;
}

std::string inside(std::string target, http::Headers headers, std::string method = "GET") {
  return head_inside(request_of(std::move(target), std::move(headers), std::move(method)), kPassage,
                     Continue::NotAsked);
}

TEST(PreviewCookies, OursIsSeenAndNotPassedOn) {
  const char* header = "a=1; cove_preview=x; b=2;__Host-cove_preview=y ; COVE_PREVIEW=z";
  EXPECT_THAT(own_cookies(header), ElementsAre("x", "y", "z"));
  EXPECT_EQ(without_own_cookies(header), "a=1; b=2");
  EXPECT_EQ(without_own_cookies("cove_preview=x"), "");
  EXPECT_EQ(without_own_cookies("=cove_preview=x; cove_preview"), "=cove_preview=x");
}

TEST(PreviewCookies, OfAServerInsideAreForItsHostOnly) {
  EXPECT_EQ(confined_cookie("a=1; Domain=localhost; Path=/; HttpOnly"), "a=1; Path=/; HttpOnly");
  EXPECT_EQ(confined_cookie("a=1;domain = .example.org;DOMAIN=x"), "a=1");
  EXPECT_EQ(confined_cookie("domain=1; Path=/"), "domain=1; Path=/");
  for (const char* ours : {"cove_preview=x", " Cove_Preview =x; Path=/", "__Host-cove_preview=x; Secure",
                           "=cove_preview=x", "cove_preview"})
    EXPECT_FALSE(confined_cookie(ours)) << ours;
}

TEST(PreviewHeaders, TheTokenStaysOutside) {
  EXPECT_EQ(target_inside(request_of("/a?x=1&cove_token=t&y=%20", {})), "/a?x=1&y=%20");
  EXPECT_EQ(target_inside(request_of("/a?cove_token=t", {})), "/a");
  EXPECT_EQ(target_inside(request_of("/a?cove%5Ftoken=t&cove_token", {})), "/a");
  EXPECT_EQ(target_inside(request_of("/a?", {})), "/a?");
  EXPECT_EQ(target_inside(request_of("/a?&&x", {})), "/a?&&x");
  EXPECT_THAT(inside("/", {{"Referer", kOrigin + "/?cove_token=t"}}), Not(HasSubstr("Referer")));
  EXPECT_THAT(inside("/", {{"Referer", kOrigin + "/page"}}), HasSubstr("Referer: " + kOrigin + "/page\r\n"));
}

TEST(PreviewHeaders, CredentialsOfCoveStayOutsideAndOthersPass) {
  for (const char* secret : {"cove_0123", "cvt_x", "cvp_x"}) {
    EXPECT_THAT(inside("/", {{"Authorization", std::string("bearer  ") + secret}}), Not(HasSubstr(secret)));
    EXPECT_THAT(inside("/", {{"X-API-Key", secret}}), Not(HasSubstr(secret)));
  }
  EXPECT_THAT(inside("/", {{"Authorization", "Bearer theirs"}}), HasSubstr("Authorization: Bearer theirs\r\n"));
  EXPECT_THAT(inside("/", {{"Authorization", "Basic eDp5"}}), HasSubstr("Authorization: Basic eDp5\r\n"));
  EXPECT_THAT(inside("/", {{"Cookie", "cove_preview=x"}}), Not(HasSubstr("Cookie")));
}

TEST(PreviewHeaders, WhatIsForOneConnectionStaysOnIt) {
  std::string head = inside("/",
                            {{"Host", "other"},
                             {"Connection", "close, X-Secret"},
                             {"X-Secret", "1"},
                             {"Keep-Alive", "5"},
                             {"TE", "trailers"},
                             {"Transfer-Encoding", "chunked"},
                             {"X_Forwarded_For", "6.6.6.6"},
                             {"X-Forwarded-Host", "evil.example"},
                             {"Content_Length", "5"},
                             {"X-Mine", "1"}},
                            "POST");
  EXPECT_EQ(head,
            "POST / HTTP/1.1\r\nHost: 3000-abc.localhost:7070\r\nX-Mine: 1\r\nX-Forwarded-For: 127.0.0.1\r\n"
            "X-Forwarded-Host: 3000-abc.localhost:7070\r\nX-Forwarded-Proto: http\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n");
}

TEST(PreviewHeaders, AnUpgradeIsAskedForInside) {
  std::string head =
      inside("/ws", {{"Connection", "keep-alive, Upgrade"}, {"Upgrade", "websocket"}, {"Origin", kOrigin}});
  EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  EXPECT_THAT(head, HasSubstr("Origin: " + kOrigin + "\r\n"));
  // A request with a body is no handshake.
  EXPECT_THAT(inside("/ws", {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Content-Length", "3"}}),
              Not(HasSubstr("Upgrade")));
}

http::Headers outside(http::Headers headers, int status = 200) {
  http1::ResponseHead head;
  head.status = status;
  head.headers = std::move(headers);
  return headers_outside(head, kPassage);
}

TEST(PreviewHeaders, AnswersKeepToTheirOrigin) {
  auto headers = outside({{"Set-Cookie", "a=1; Domain=localhost"},
                          {"Set-Cookie", "cove_preview=x"},
                          {"Alt-Svc", "h2=\":1\""},
                          {"Clear-Site-Data", "\"*\""},
                          {"Connection", "X-Hop"},
                          {"X-Hop", "1"},
                          {"Content-Length", "3"},
                          {"Location", "http://localhost:3000/login?x"}});
  EXPECT_THAT(headers, ElementsAre(testing::Pair("Set-Cookie", "a=1"), testing::Pair("Location", kOrigin + "/login?x"),
                                   testing::Pair("Referrer-Policy", "same-origin"),
                                   testing::Pair("Origin-Agent-Cluster", "?1")));
  EXPECT_THAT(
      outside({{"Location", "https://example.org/"}, {"Referrer-Policy", "origin"}, {"Origin-Agent-Cluster", "?0"}}),
      ElementsAre(testing::Pair("Location", "https://example.org/"), testing::Pair("Referrer-Policy", "origin"),
                  testing::Pair("Origin-Agent-Cluster", "?0")));
  for (const char* other :
       {"http://localhost:3001/", "http://localhost/", "http://localhost:30000/", "//localhost:3000/"})
    EXPECT_THAT(outside({{"Location", other}}), testing::Contains(testing::Pair("Location", other)));
}

bool is_foreign(http::Headers headers, std::string method = "GET") {
  return shown_by(request_of("/", std::move(headers), std::move(method)), kOrigin).foreign;
}

TEST(PreviewAdmission, OtherPagesDoNotUseTheVisitorsCookie) {
  EXPECT_FALSE(is_foreign({}));
  EXPECT_FALSE(is_foreign({{"Origin", kOrigin}, {"Sec-Fetch-Site", "same-origin"}}, "POST"));
  EXPECT_FALSE(is_foreign({{"Sec-Fetch-Site", "none"}}));
  EXPECT_FALSE(
      is_foreign({{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}));
  EXPECT_TRUE(is_foreign({{"Origin", "http://3000-other.localhost:7070"}}));
  EXPECT_TRUE(is_foreign({{"Origin", "null"}}, "POST"));
  EXPECT_TRUE(is_foreign({{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Mode", "websocket"}}));
  EXPECT_TRUE(
      is_foreign({{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}}));
  EXPECT_TRUE(is_foreign(
      {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}, "POST"));
}

TEST(PreviewAdmission, ATokenIsForOnePortOfOneSandboxAndOneGeneration) {
  const std::string token = make_preview_token(kSecret, {"abc", 3000, 2, kNow + 5000});
  const engine::PortRule rule{engine::PortAccess::Private, 2};
  EXPECT_EQ(token_end(kSecret, token, kName, rule, kNow), kNow + 5000);
  EXPECT_EQ(token_end(kSecret, token, kName, rule, kNow + 5000), 0);
  EXPECT_EQ(token_end(kSecret, token, kName, {engine::PortAccess::Private, 3}, kNow), 0);
  EXPECT_EQ(token_end(kSecret, token, {3001, "abc"}, rule, kNow), 0);
  EXPECT_EQ(token_end(kSecret, token, {3000, "abd"}, rule, kNow), 0);
  EXPECT_EQ(token_end(std::string(32, 't'), token, kName, rule, kNow), 0);
  EXPECT_EQ(token_end(kSecret, make_token(kSecret, {"abc", Scopes({Scope::Run}), kNow + 5000}), kName, rule, kNow), 0);
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(token_end(kSecret, other, kName, rule, kNow), 0) << i;
  }
}

TEST(PreviewPages, ShowHostileNamesAsText) {
  Notice notice{.title = "nothing <listens>", .hint = "a & b"};
  notice.ports.push_back({80, "0.0.0.0", 2, "x", "<script>alert(1)</script>\x1b[2J", {}});
  std::string page = notice_body(notice, Reader::Browser);
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(notice_body(notice, Reader::Program), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace cove::api
