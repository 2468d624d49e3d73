#include "net/gateway/dns_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "net/gateway/test_context.h"
#include "net/gateway/test_dns.h"
#include "sys/socket.h"

namespace cove::net::testing {
namespace {

using ::testing::HasSubstr;
using Transport = DnsServer::Transport;

class DnsServerTest : public ::testing::Test {
 protected:
  DnsServerTest() {
    upstream_ =
        std::make_unique<TestDns>(context_.loop(), [this](auto& asked) { return silent_ ? "" : table_(asked); });
    EXPECT_TRUE(resolver_->use_servers({upstream_->server()}));
  }
  std::string ask(const std::string& question, Transport transport = Transport::Udp) {
    std::optional<std::string> reply;
    dns_->ask(question, transport, [&](std::string message) { reply = std::move(message); });
    context_.wait_until([&] { return reply.has_value(); });
    return reply.value_or("");
  }
  std::string ask(const std::string& name, uint16_t type) { return ask(query(0x1234, name, type)); }
  static int code(const std::string& reply) { return reply[3] & 0xf; }
  static int answers(const std::string& reply) { return static_cast<uint8_t>(reply[7]); }
  std::optional<Address> address_in(const std::string& reply, const std::string& name, uint16_t type = dns::kA) {
    auto found = dns::parse_addresses(reply, name, type);
    return found && found->addresses.size() == 1 ? std::optional(found->addresses[0]) : std::nullopt;
  }

  TestContext context_{policy_of(NetworkTier::Standard, {"www.example", "*.wild.example", "db.example:5432"})};
  TestDns::Answer table_ = table_of({address("www.example", "44.10.0.1"),
                                     address("www.example", "2001:db8::1"),
                                     address("db.example", "44.10.0.2"),
                                     address("a.wild.example", "44.10.0.3"),
                                     {"example.org", 15, 60, "\x05hello"},
                                     address("example.org", "44.10.0.4")});
  bool silent_ = false;
  std::unique_ptr<TestDns> upstream_;
  std::unique_ptr<Resolver> resolver_ = Resolver::create(context_.loop()).value();
  std::unique_ptr<DnsServer> dns_ = DnsServer::create(context_, *resolver_);
};

TEST_F(DnsServerTest, EligibleNamesGetASyntheticAddress) {
  for (std::string name : {"www.example", "WWW.example", "db.example", "a.wild.example"}) {
    std::string reply = ask(name, dns::kA);
    auto found = dns::parse_addresses(reply, name == "WWW.example" ? "www.example" : name, dns::kA);
    ASSERT_TRUE(found && found->addresses.size() == 1) << name;
    EXPECT_TRUE(is_synthetic(found->addresses[0]));
    EXPECT_EQ(context_.names().name_of(found->addresses[0]), name == "WWW.example" ? "www.example" : name);
    EXPECT_LE(found->ttl, 60u);
  }
}

TEST_F(DnsServerTest, TheyHaveNoIPv6AndNoOtherRecords) {
  for (uint16_t type : std::initializer_list<uint16_t>{dns::kAaaa, dns::kHttps, dns::kSvcb, 15, 16, 33}) {
    std::string reply = ask("www.example", type);
    EXPECT_EQ(code(reply), 0) << type;
    EXPECT_EQ(answers(reply), 0) << type;
  }
  EXPECT_EQ(upstream_->asked("www.example", 16), 0u);
}

TEST_F(DnsServerTest, OtherNamesDoNotExistAndAreNeverForwarded) {
  for (std::string name :
       {"evil.example", "wild.example", "secret-data.evil.example", "www.example.evil", "xn--nxasmq6b.example"}) {
    for (uint16_t type : std::initializer_list<uint16_t>{dns::kA, dns::kAaaa, 16}) {
      EXPECT_EQ(code(ask(name, type)), 3) << name;
      EXPECT_EQ(upstream_->asked(name, type), 0u) << name;
    }
    EXPECT_EQ(context_.denied(name), 1u) << "logged once for all its types: " << name;
  }
}

TEST_F(DnsServerTest, OddNamesDoNotExist) {
  std::string message = query(1, "xxxxxxxxxxx", dns::kA);
  for (std::string odd : {std::string("www.example"), std::string("www\0example", 11), std::string("www example")}) {
    std::string asked = message;
    EXPECT_EQ(code(ask(asked.replace(13, 11, odd))), 3);
  }
  EXPECT_GE(context_.recent_denials().size(), 1u);
  EXPECT_EQ(code(ask(query(1, "", dns::kA))), 3);
}

TEST_F(DnsServerTest, EligibleNamesThatDoNotExistAreTold) {
  EXPECT_EQ(code(ask("no.wild.example", dns::kA)), 3);
  EXPECT_EQ(code(ask("no.wild.example", dns::kAaaa)), 3);
}

TEST_F(DnsServerTest, ASlowResolverIsNotWaitedFor) {
  silent_ = true;
  EXPECT_TRUE(is_synthetic(address_in(ask("www.example", dns::kA), "www.example").value()));
}

TEST_F(DnsServerTest, AnAnswerOfTheResolversFailureIsTemporary) {
  table_ = [](const TestDns::Asked& asked) { return answer_to(asked.message, 2, {}); };
  EXPECT_EQ(code(ask("www.example", dns::kA)), 2);
}

TEST_F(DnsServerTest, OneLookupIsLoggedOnce) {
  ask("www.example", dns::kA);
  ask("www.example", dns::kAaaa);
  ASSERT_EQ(context_.logged.size(), 1u);
  EXPECT_EQ(context_.logged[0].stage, NetworkEntry::Stage::Lookup);
  EXPECT_EQ(context_.logged[0].host, "www.example");
  EXPECT_TRUE(context_.logged[0].allowed);
}

TEST_F(DnsServerTest, AFloodDoesNotFloodTheLog) {
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(code(ask("n" + std::to_string(i) + ".evil.example", dns::kA)), 3);
  EXPECT_GE(context_.logged.size(), 500u);
  EXPECT_LT(context_.logged.size(), 3000u);
}

TEST_F(DnsServerTest, KnowsItsOwnNames) {
  EXPECT_EQ(address_in(ask("cove.internal", dns::kA), "cove.internal"), ip("10.0.2.3"));
  EXPECT_EQ(address_in(ask("localhost", dns::kA), "localhost"), ip("127.0.0.1"));
  EXPECT_EQ(address_in(ask("a.localhost", dns::kAaaa), "a.localhost", dns::kAaaa), ip("::1"));
  EXPECT_TRUE(context_.logged.empty());
}

TEST_F(DnsServerTest, SyntheticAddressesHaveTheirNameInReverse) {
  Address given = address_in(ask("www.example", dns::kA), "www.example").value();
  auto number = [&](size_t i) { return std::to_string(given.bytes[i]); };
  std::string reverse = number(15) + "." + number(14) + "." + number(13) + "." + number(12) + ".in-addr.arpa";
  EXPECT_THAT(ask(reverse, dns::kPtr), HasSubstr(wire_name("www.example")));
  EXPECT_EQ(code(ask("1.0.18.198.in-addr.arpa", dns::kPtr)), 3);
  EXPECT_EQ(code(ask("8.8.8.8.in-addr.arpa", dns::kPtr)), 3);
}

TEST_F(DnsServerTest, WholeZonesAndOtherClassesAreRefused) {
  for (uint16_t type : {uint16_t{255}, uint16_t{252}, uint16_t{251}}) EXPECT_EQ(code(ask("www.example", type)), 5);
  EXPECT_EQ(code(ask(query(1, "version.bind", 16, 3))), 5);
}

TEST_F(DnsServerTest, RefusalsAreLogged) {
  ask("www.example", 255);
  EXPECT_EQ(context_.denied("www.example"), 1u);
  EXPECT_EQ(context_.recent_denials().back().code, "protocol");
  ask("8.8.8.8.in-addr.arpa", dns::kPtr);
  EXPECT_EQ(context_.denied("8.8.8.8.in-addr.arpa"), 1u);
  ask(query(1, "www.example", dns::kA) + "x");
  EXPECT_EQ(context_.recent_denials().back().code, "malformed");
}

TEST_F(DnsServerTest, WhatIsDeniedAfterAnExecIsLoggedAnew) {
  ask("evil.example", dns::kA);
  dns_->forget_logged();
  ask("evil.example", dns::kA);
  EXPECT_EQ(context_.denied("evil.example"), 2u);
}

TEST_F(DnsServerTest, InTheFullTiersOtherRecordsAreForwarded) {
  context_.set(policy_of(NetworkTier::Elevated, {}));
  std::string reply = ask("example.org", 15);
  EXPECT_EQ(code(reply), 0);
  EXPECT_THAT(reply, HasSubstr("\x05hello"));
  EXPECT_EQ(reply.substr(0, 2), "\x12\x34");
  EXPECT_TRUE(is_synthetic(address_in(ask("example.org", dns::kA), "example.org").value()));
  EXPECT_EQ(answers(ask("example.org", dns::kHttps)), 0) << "their hints would hide the name of a connection";
}

TEST_F(DnsServerTest, BlockedNamesDoNotExistInTheFullTiersEither) {
  context_.set(policy_of(NetworkTier::Elevated, {}, {"example.org"}));
  EXPECT_EQ(code(ask("example.org", 15)), 3);
  EXPECT_EQ(upstream_->asked("example.org", 15), 0u);
}

// --- over TCP --------------------------------------------------------------------------------------------------------

class DnsStreamTest : public DnsServerTest {
 protected:
  DnsStreamTest() {
    auto pair = sys::socketpair(SOCK_STREAM).value();
    client_ = std::move(pair.first);
    dns_->serve(std::move(pair.second));
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(client_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  bool receive() {
    char buffer[4096];
    ssize_t size = ::recv(client_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size > 0) received_.append(buffer, static_cast<size_t>(size));
    return size == 0;
  }
  UniqueFd client_;
  std::string received_;
};

std::string framed(const std::string& message) { return two(message.size()) + message; }

TEST_F(DnsStreamTest, QuestionsAreAnsweredHoweverTheyAreSplit) {
  for (char c : framed(query(1, "localhost", dns::kA))) {
    send({&c, 1});
    context_.wait_until([] { return true; });
  }
  context_.wait_until([&] { return receive(), received_.size() > 40; });
  EXPECT_EQ(received_.substr(0, 4), two(received_.size() - 2) + two(1));
}

TEST_F(DnsStreamTest, ManyAtOnceAreAllAnsweredAndThenItIsClosed) {
  std::string all;
  for (uint16_t i = 0; i < 200; ++i) all += framed(query(i, i % 2 ? "localhost" : "www.example", dns::kA));
  send(all);
  ::shutdown(client_.get(), SHUT_WR);
  context_.wait_until([&] { return receive(); });
  size_t count = 0;
  for (std::string_view rest = received_; rest.size() > 2; ++count)
    rest.remove_prefix(2 + (static_cast<size_t>(static_cast<uint8_t>(rest[0])) << 8 | static_cast<uint8_t>(rest[1])));
  EXPECT_EQ(count, 200u);
}

TEST_F(DnsStreamTest, WhatIsNoMessageEndsTheConnection) {
  send(std::string("\0\x03xxx", 5));
  context_.wait_until([&] { return receive(); });
  EXPECT_EQ(received_, "");
}

}  // namespace
}  // namespace cove::net::testing
