#include "net/gateway/internal_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/json.h"
#include "net/gateway/test_context.h"
#include "sys/socket.h"

namespace cove::net::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class InternalPageTest : public ::testing::Test {
 protected:
  InternalPageTest() {
    EffectivePolicy policy = policy_of(NetworkTier::Standard, {"pypi.org"}, {"evil.example"});
    policy.secrets.push_back(
        {"GITHUB_TOKEN", "ghp_placeholder", "ghp_the-value", {"api.github.com"}, {"authorization"}});
    policy.authority_key = "the-authority-key";
    context_.set(policy);
  }
  std::string ask(std::string_view request, size_t piece = SIZE_MAX) {
    auto pair = sys::socketpair(SOCK_STREAM).value();
    page_->serve(std::move(pair.second), "");
    std::string answer;
    bool closed = false;
    while (!request.empty()) {
      size_t size = std::min(piece, request.size());
      ::send(pair.first.get(), request.data(), size, MSG_NOSIGNAL);
      request.remove_prefix(size);
      context_.wait_until([turned = false]() mutable { return std::exchange(turned, true); });
    }
    context_.wait_until([&] {
      char buffer[4096];
      ssize_t size = ::recv(pair.first.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (size > 0) answer.append(buffer, static_cast<size_t>(size));
      closed |= size == 0;
      return closed;
    });
    return answer;
  }
  std::string get(const std::string& path, const std::string& headers = "") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: cove.internal\r\n" + headers + "\r\n");
  }
  std::string post(const std::string& body, size_t piece = SIZE_MAX) {
    return ask("POST /v1/requests HTTP/1.1\r\nHost: cove.internal\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + body,
               piece);
  }
  static Json json(const std::string& answer) {
    return Json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).value();
  }

  TestContext context_;
  std::unique_ptr<InternalPage> page_ = InternalPage::create(context_);
};

TEST_F(InternalPageTest, TheFrontPageSaysWhatIsAllowedAndHowToAsk) {
  context_.log_denial({.name = "denied.example", .port = 443},
                      {.why = "denied.example:443 is not on the allow list", .code = "not_allowed"});
  EXPECT_THAT(get("/"), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("text/plain"), HasSubstr("pypi.org"),
                              HasSubstr("evil.example"), HasSubstr("denied.example:443"), HasSubstr("/v1/requests")));
  Json page = json(get("/", "Accept: application/json\r\n"));
  EXPECT_EQ(page["policy"]["tier"], Json("standard"));
  EXPECT_EQ(page["denials"][0]["host"], Json("denied.example"));
}

TEST_F(InternalPageTest, NeverShowsValues) {
  for (const char* path : {"/", "/v1/policy", "/v1/denials"})
    for (const char* accept : {"", "Accept: application/json\r\n"})
      EXPECT_THAT(get(path, accept),
                  AllOf(StartsWith("HTTP/1.1 200 "), Not(HasSubstr("ghp_")), Not(HasSubstr("the-authority-key"))));
  EXPECT_EQ(json(get("/v1/policy"))["brokered_secrets"][0]["name"], Json("GITHUB_TOKEN"));
}

TEST_F(InternalPageTest, DenialsComeNewestFirstAndWithoutQueries) {
  for (int i = 0; i < 5; ++i)
    context_.log_denial({.name = "n" + std::to_string(i) + ".example", .port = 80, .path = "/a?token=secret"}, {});
  Json denials = json(get("/v1/denials?last=2"))["denials"];
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_EQ(denials[0]["host"], Json("n4.example"));
  EXPECT_EQ(denials[0]["path"], Json("/a"));
  EXPECT_THAT(get("/v1/denials?last=0"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(get("/v1/denials?first=1"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(InternalPageTest, ARequestForAccessIsPassedOnHoweverItIsSplit) {
  std::string body = R"({"host": "API.example.", "port": 8443, "reason": "to fetch data"})";
  for (size_t piece : {size_t{1}, size_t{7}, SIZE_MAX}) {
    context_.requested.clear();
    EXPECT_THAT(post(body, piece), StartsWith("HTTP/1.1 202 "));
    EXPECT_THAT(context_.requested, ::testing::ElementsAre("api.example:8443 to fetch data"));
  }
}

TEST_F(InternalPageTest, WhatIsAllowedNeedsNoRequest) {
  EXPECT_THAT(post(R"({"host": "pypi.org"})"), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("allowed")));
  EXPECT_TRUE(context_.requested.empty());
}

TEST_F(InternalPageTest, BadRequestsAreRefused) {
  const std::string bodies[] = {"",
                                "x",
                                "[]",
                                "{}",
                                R"({"host": 1})",
                                R"({"host": "a b"})",
                                R"({"host": "x.example", "port": 0})",
                                R"({"host": "x.example", "port": "443"})",
                                R"({"host": "x.example", "extra": 1})",
                                R"({"host": "0x7f.1"})",
                                R"({"host": "x.example", "reason": ")" + std::string(501, 'x') + "\"}"};
  for (const auto& body : bodies) EXPECT_THAT(post(body), StartsWith("HTTP/1.1 400 ")) << body;
  EXPECT_THAT(post(std::string(20'000, 'x')), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(ask("POST /v1/requests HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), StartsWith("HTTP/1.1 411 "));
  EXPECT_THAT(get("/v1/requests"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(get("/etc/passwd"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(get("/", "X: " + std::string(20'000, 'x') + "\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_TRUE(context_.requested.empty());
}

TEST_F(InternalPageTest, AFloodOfRequestsIsBounded) {
  for (int i = 0; i < 30; ++i) post(R"({"host": "n)" + std::to_string(i) + R"(.example"})");
  EXPECT_GE(context_.requested.size(), 10u);
  EXPECT_LT(context_.requested.size(), 20u);
}

}  // namespace
}  // namespace cove::net::testing
