#include "net/gateway/connector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "net/gateway/socket_address.h"
#include "net/gateway/test_context.h"
#include "net/gateway/test_dns.h"

namespace cove::net::testing {
namespace {

using ::testing::HasSubstr;

// A listening socket on the loopback interface.
struct Listener {
  explicit Listener(const char* address = "127.0.0.1") {
    SocketAddress any(ip(address), 0);
    fd.reset(::socket(any.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), any.get(), any.size()), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    socklen_t size = sizeof(sockaddr_storage);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&any.storage()), &size);
    port = any.port();
  }
  UniqueFd fd;
  uint16_t port = 0;
};

class ConnectorTest : public ::testing::Test {
 protected:
  void use(std::vector<TestRecord> records) {
    server_ = std::make_unique<TestDns>(context_.loop(), table_of(std::move(records)));
    ASSERT_TRUE(resolver_->use_servers({server_->server()}));
  }
  std::expected<Connected, ConnectFailure> connect(Target target) {
    std::optional<std::expected<Connected, ConnectFailure>> result;
    auto connector =
        Connector::start(context_, *resolver_, std::move(target), [&](auto got) { result = std::move(got); });
    context_.wait_until([&] { return result.has_value(); });
    return std::move(*result);
  }
  std::string refusal(Target target) {
    auto result = connect(std::move(target));
    if (result) return "connected";
    return result.error().denied ? result.error().denied->code : result.error().error.message();
  }

  TestContext context_{policy_of(NetworkTier::Standard, {"www.example"})};
  std::unique_ptr<TestDns> server_;
  std::unique_ptr<Resolver> resolver_ = Resolver::create(context_.loop()).value();
};

TEST_F(ConnectorTest, ConnectsToWhatANameWasResolvedTo) {
  Listener listener;
  context_.set(policy_of(NetworkTier::Standard, {"www.example", "127.0.0.1"}));
  use({alias("www.example", "cdn.example"), address("cdn.example", "127.0.0.1")});
  auto result = connect({.name = "www.example", .port = listener.port});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->address, ip("127.0.0.1"));
  EXPECT_TRUE(UniqueFd(::accept(listener.fd.get(), nullptr, nullptr)));
}

TEST_F(ConnectorTest, RefusesNamesOfAddressesThatAreNotPublic) {
  const char* addresses[] = {"127.0.0.1",        "10.1.2.3",      "192.168.0.1", "169.254.169.254",
                             "100.100.100.200",  "224.0.0.1",     "0.0.0.0",     "::1",
                             "::ffff:127.0.0.1", "fd00:ec2::254", "fe80::1",     "ff02::1",
                             "64:ff9b::7f00:1",  "::127.0.0.1"};
  for (const char* text : addresses) {
    use({alias("www.example", "inner.example"), address("inner.example", text)});
    EXPECT_EQ(refusal({.name = "www.example", .port = 80}), "private_address") << text;
  }
}

TEST_F(ConnectorTest, RefusesSuchAddressesWithoutAName) {
  context_.set(policy_of(NetworkTier::Unrestricted, {}));
  for (const char* text : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1"})
    EXPECT_EQ(refusal({.address = ip(text), .port = 80}), "private_address") << text;
}

TEST_F(ConnectorTest, ChecksEveryConnectionByThePresentPolicy) {
  Listener listener;
  use({address("www.example", "127.0.0.1")});
  context_.set(policy_of(NetworkTier::Standard, {"www.example", "127.0.0.1"}));
  ASSERT_TRUE(connect({.name = "www.example", .port = listener.port}));
  context_.set(policy_of(NetworkTier::Standard, {"www.example"}));
  EXPECT_EQ(refusal({.name = "www.example", .port = listener.port}), "private_address");
}

// A context whose policy changes as soon as an address was checked.
struct Changing : TestContext {
  using TestContext::TestContext;
  Verdict check_resolved(const Target& target, const Address& address) const override {
    Verdict verdict = TestContext::check_resolved(target, address);
    checked();
    return verdict;
  }
  std::function<void()> checked;
};

TEST(Connector, ChecksAnewWhereThePolicyChangesMeanwhile) {
  Listener listener;
  Changing context(policy_of(NetworkTier::Standard, {"127.0.0.1"}));
  context.checked = [&] {
    EffectivePolicy narrower = policy_of(NetworkTier::Standard, {"www.example"});
    narrower.version = 2;
    context.set(std::move(narrower));
  };
  auto resolver = Resolver::create(context.loop()).value();
  std::optional<std::expected<Connected, ConnectFailure>> result;
  auto connector = Connector::start(context, *resolver, {.address = ip("127.0.0.1"), .port = listener.port},
                                    [&](auto got) { result = std::move(got); });
  context.wait_until([&] { return result.has_value(); });
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().denied->code, "private_address");
}

TEST_F(ConnectorTest, ANetworkDoesNotAllowThisMachineWithinIt) {
  Listener listener;
  use({address("www.example", "127.0.0.1")});
  context_.set(policy_of(NetworkTier::Standard, {"www.example", "127.0.0.0/8"}));
  EXPECT_EQ(refusal({.name = "www.example", .port = listener.port}), "private_address");
}

TEST_F(ConnectorTest, GoesOnToTheNextAddress) {
  Listener listener;
  context_.set(policy_of(NetworkTier::Standard, {"www.example", "127.0.0.1", "127.0.0.2"}));
  use({address("www.example", "10.0.0.1"), address("www.example", "127.0.0.2"), address("www.example", "127.0.0.1")});
  auto result = connect({.name = "www.example", .port = listener.port});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->address, ip("127.0.0.1"));
}

TEST_F(ConnectorTest, SaysWhyItFailed) {
  uint16_t port = Listener().port;  // closed again
  context_.set(policy_of(NetworkTier::Standard, {"www.example", "127.0.0.1"}));
  use({address("www.example", "127.0.0.1")});
  EXPECT_THAT(refusal({.name = "www.example", .port = port}), HasSubstr("connect to www.example (127.0.0.1) port"));
  EXPECT_THAT(refusal({.name = "www.example", .port = port}), HasSubstr("Connection refused"));
  EXPECT_THAT(refusal({.name = "missing.example", .port = 80}), HasSubstr("no such name: missing.example"));
}

TEST_F(ConnectorTest, IsGivenUpWhenItIsDestroyed) {
  use({address("www.example", "10.0.0.1")});
  bool called = false;
  for (int i = 0; i < 3; ++i)
    Connector::start(context_, *resolver_, {.name = "www.example", .port = 80}, [&](auto) { called = true; });
  bool later = false;
  resolver_->resolve(this, "www.example", [&](auto&) { later = true; });
  context_.wait_until([&] { return later; });
  EXPECT_FALSE(called);
}

TEST(OwnAddresses, AreThoseOfThisMachine) {
  OwnAddresses own = OwnAddresses::open().value();
  for (const char* text : {"127.0.0.1", "127.1.2.3", "::1", "255.255.255.255"})
    EXPECT_TRUE(own.contains(ip(text))) << text;
  for (const char* text : {"192.0.2.1", "2001:db8::1", "10.255.254.253"}) EXPECT_FALSE(own.contains(ip(text))) << text;
}

}  // namespace
}  // namespace cove::net::testing
