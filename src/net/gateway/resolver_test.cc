#include "net/gateway/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/gateway/test_context.h"
#include "net/gateway/test_dns.h"

namespace cove::net::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outcome = Resolution::Outcome;

class ResolverTest : public ::testing::Test {
 protected:
  void use(TestDns::Answer answer) {
    server_ = std::make_unique<TestDns>(context_.loop(), std::move(answer));
    ASSERT_TRUE(resolver_->use_servers({server_->server()}));
  }
  Resolution resolve(const std::string& name) {
    std::optional<Resolution> result;
    resolver_->resolve(this, name, [&](const Resolution& found) { result = found; });
    context_.wait_until([&] { return result.has_value(); });
    return result.value_or(Resolution{});
  }

  TestContext context_;
  std::unique_ptr<TestDns> server_;
  std::unique_ptr<Resolver> resolver_ = Resolver::create(context_.loop()).value();
};

TEST_F(ResolverTest, FollowsAliasesAndGivesBothFamilies) {
  use(table_of({alias("www.example", "cdn.example"), address("cdn.example", "192.0.2.1"),
                address("cdn.example", "192.0.2.2"), address("cdn.example", "2001:db8::1")}));
  Resolution found = resolve("www.example");
  EXPECT_EQ(found.outcome, Outcome::Found);
  EXPECT_THAT(found.addresses, ElementsAre(ip("192.0.2.1"), ip("192.0.2.2"), ip("2001:db8::1")));
}

TEST_F(ResolverTest, TellsNoNameFromNoAddress) {
  use(table_of({{"mail.example", 15, 60, "xx"}}));
  EXPECT_EQ(resolve("mail.example").outcome, Outcome::NoAddress);
  Resolution missing = resolve("missing.example");
  EXPECT_EQ(missing.outcome, Outcome::NoName);
  EXPECT_THAT(missing.why, HasSubstr("missing.example"));
}

TEST_F(ResolverTest, ANameIsPinnedForItsTime) {
  int lookups = 0;
  use([&](const TestDns::Asked& asked) {
    lookups += asked.type == dns::kA;
    const char* now = lookups == 1 ? "192.0.2.1" : "10.0.0.1";
    return answer_to(asked.message, 0,
                     asked.type == dns::kA ? std::vector{address(asked.name, now, 3600)} : std::vector<TestRecord>());
  });
  for (int i = 0; i < 3; ++i) EXPECT_THAT(resolve("rebound.example").addresses, ElementsAre(ip("192.0.2.1")));
  EXPECT_EQ(lookups, 1);
}

TEST_F(ResolverTest, TheSmallestTimeOfAChainCounts) {
  int lookups = 0;
  use([&](const TestDns::Asked& asked) {
    lookups += asked.type == dns::kA;
    if (asked.type != dns::kA) return answer_to(asked.message, 0, {});
    return answer_to(asked.message, 0,
                     {alias(asked.name, "cdn.example", 0), address("cdn.example", "192.0.2.1", 3600)});
  });
  resolve("short.example");
  context_.wait_until([&] { return resolve("short.example").outcome == Outcome::Found && lookups >= 2; });
}

TEST_F(ResolverTest, AsksOnceForAllWhoWait) {
  use(table_of({address("www.example", "192.0.2.1")}));
  int called = 0;
  for (int i = 0; i < 20; ++i) resolver_->resolve(this, "www.example", [&](auto&) { ++called; });
  context_.wait_until([&] { return called == 20; });
  EXPECT_EQ(server_->asked("www.example", dns::kA), 1u);
}

TEST_F(ResolverTest, TruncatedAnswersAreAskedForOverTcp) {
  use([](const TestDns::Asked& asked) {
    if (!asked.over_tcp) return answer_to(asked.message, 0x0200, {});
    return answer_to(asked.message, 0,
                     asked.type == dns::kA ? std::vector{address(asked.name, "192.0.2.7")} : std::vector<TestRecord>());
  });
  EXPECT_THAT(resolve("large.example").addresses, ElementsAre(ip("192.0.2.7")));
  EXPECT_GE(server_->over_tcp(), 1u);
}

TEST_F(ResolverTest, FailuresAreToldAndNotKept) {
  bool fails = true;
  use([&](const TestDns::Asked& asked) {
    if (fails) return answer_to(asked.message, 2, {});
    return table_of({address("www.example", "192.0.2.1")})(asked);
  });
  Resolution failed = resolve("www.example");
  EXPECT_EQ(failed.outcome, Outcome::Failed);
  EXPECT_THAT(failed.why, HasSubstr("cannot look up www.example"));
  fails = false;
  EXPECT_EQ(resolve("www.example").outcome, Outcome::Found);
}

TEST_F(ResolverTest, AnswersToOtherQuestionsAreIgnored) {
  use([&](const TestDns::Asked& asked) -> std::string {
    // A forger does not know the id; what it sends is not taken, and the real answer is.
    std::string real = answer_to(asked.message, 0, {address(asked.name, "192.0.2.1")});
    if (asked.type != dns::kA) return answer_to(asked.message, 0, {});
    static int tries = 0;
    if (++tries > 1) return real;
    std::string forged = answer_to(asked.message, 0, {address(asked.name, "203.0.113.66")});
    forged[0] = static_cast<char>(forged[0] ^ 0x55);
    return forged;
  });
  EXPECT_THAT(resolve("www.example").addresses, ElementsAre(ip("192.0.2.1")));
}

TEST_F(ResolverTest, MalformedAnswersFail) {
  use([](const TestDns::Asked& asked) { return answer_to(asked.message, 0, {{asked.name, asked.type, 60, "bad"}}); });
  EXPECT_EQ(resolve("www.example").outcome, Outcome::Failed);
}

TEST_F(ResolverTest, OneOwnerCannotTakeAllLookups) {
  use([](const TestDns::Asked&) { return std::string(); });
  size_t failed = 0;
  for (size_t i = 0; i < Resolver::kMostOfOwner + 10; ++i)
    resolver_->resolve(this, "n" + std::to_string(i) + ".example",
                       [&](const Resolution& found) { failed += found.outcome == Outcome::Failed; });
  EXPECT_EQ(failed, 10u);
  int other = 0;
  EXPECT_NE(resolver_->resolve(&other, "other.example", [](auto&) {}), 0u);
}

TEST_F(ResolverTest, WhatIsCancelledIsNotCalled) {
  use(table_of({address("www.example", "192.0.2.1")}));
  bool cancelled = false, called = false;
  uint64_t one = resolver_->resolve(this, "www.example", [&](auto&) { cancelled = true; });
  resolver_->resolve(this, "www.example", [&](auto&) { called = true; });
  resolver_->cancel(one);
  context_.wait_until([&] { return called; });
  EXPECT_FALSE(cancelled);
}

TEST_F(ResolverTest, OtherRecordsAreGivenAsTheyCame) {
  use(table_of({{"example.org", 16, 60, "\x05hello"}}));
  std::string answer;
  resolver_->query(this, "example.org", 16, [&](std::string message) { answer = std::move(message); });
  context_.wait_until([&] { return !answer.empty(); });
  EXPECT_THAT(answer, HasSubstr("\x05hello"));
}

TEST_F(ResolverTest, EndsWhileLookupsAreOpen) {
  use([](const TestDns::Asked&) { return std::string(); });
  resolver_->resolve(this, "www.example", [](auto&) { ADD_FAILURE(); });
  resolver_->query(this, "www.example", 16, [](auto) { ADD_FAILURE(); });
  resolver_.reset();
}

TEST(ResolvConf, NamesTheServers) {
  EXPECT_THAT(servers_of_resolv_conf("# x\nsearch a\nnameserver 192.0.2.1\n nameserver\t2001:db8::1 # y\nnameserver\n"
                                     "nameserverx 1\nnameserver fe80::1%eth0\nnameserver 192.0.2.4"),
              ElementsAre("192.0.2.1", "2001:db8::1", "fe80::1"));
  EXPECT_THAT(servers_of_resolv_conf(""), ElementsAre());
}

}  // namespace
}  // namespace cove::net::testing
