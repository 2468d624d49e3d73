#include "net/gateway/udp_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "net/gateway/socket_address.h"
#include "net/gateway/test_context.h"
#include "net/gateway/test_dns.h"
#include "net/namespace.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace cove::net::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kServer4 = "44.10.0.80";
constexpr const char* kServer6 = "2a10::80";
constexpr uint16_t kEcho = 7007;
constexpr uint16_t kClosed = 7008;
constexpr int kPatience = 20'000;

// --- inside: a program with plain sockets ----------------------------------------------------------------------------

struct Answer {
  int error = 0;  // of sending or receiving
  std::string text;
  std::string from;
};

class Client {
 public:
  explicit Client(const std::string& address, uint16_t port) : to_(ip(address), port) {
    fd_.reset(::socket(to_.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd_.get(), to_.get(), to_.size()), 0) << address;
  }
  void send(const std::string& text) { ::send(fd_.get(), text.data(), text.size(), 0); }
  Answer receive() {
    pollfd event = {fd_.get(), POLLIN, 0};
    if (::poll(&event, 1, kPatience) != 1) return {ETIMEDOUT, "", ""};
    std::string buffer(65536, '\0');
    ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0) return {errno, "", ""};
    return {0, buffer.substr(0, static_cast<size_t>(size)), ""};
  }
  Answer ask(const std::string& text) {
    send(text);
    return receive();
  }

 private:
  SocketAddress to_;
  UniqueFd fd_;
};

// --- outside: servers, and the gateway's parts -----------------------------------------------------------------------

class EchoServer {
 public:
  EchoServer(Loop& loop, const char* address) : loop_(loop) {
    SocketAddress own(ip(address), kEcho);
    fd_.reset(::socket(own.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd_.get(), own.get(), own.size()), 0) << address;
    EXPECT_TRUE(loop_.add(fd_.get(), EPOLLIN, [this](uint32_t) { answer(); }));
  }
  ~EchoServer() { loop_.remove(fd_.get()); }

 private:
  void answer() {
    std::string buffer(65536, '\0');
    SocketAddress from;
    socklen_t size = sizeof(sockaddr_storage);
    ssize_t got =
        ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0, reinterpret_cast<sockaddr*>(&from.storage()), &size);
    if (got >= 0) ::sendto(fd_.get(), buffer.data(), static_cast<size_t>(got), 0, from.get(), from.size());
  }
  Loop& loop_;
  UniqueFd fd_;
};

struct Outside {
  TestContext context;
  std::unique_ptr<Resolver> resolver = Resolver::create(context.loop()).value();
  TestDns upstream{context.loop(),
                   table_of({address("echo.example", kServer4), address("inner.example", "169.254.169.254")})};
  EchoServer echo4{context.loop(), kServer4};
  EchoServer echo6{context.loop(), kServer6};
  std::unique_ptr<DnsServer> dns = DnsServer::create(context, *resolver);
  std::unique_ptr<UdpRelay> relay;
};

// --- both, as processes in namespaces of their own -------------------------------------------------------------------

NetworkSockets set_up_inside() {
  if (::unshare(CLONE_NEWNET) < 0) ADD_FAILURE() << "unshare";
  auto sockets = set_up_namespace();
  EXPECT_TRUE(sockets) << sockets.error().message();
  return sockets ? std::move(*sockets) : NetworkSockets{};
}

void hand_over(int channel, const NetworkSockets& sockets) {
  std::vector<int> fds;
  for (const auto& fd : sockets.fds) fds.push_back(fd.get());
  EXPECT_TRUE(sys::send_message(channel, sockets.steering == Steering::Tproxy ? "t" : "r", fds));
}

NetworkSockets take_over(int channel) {
  auto message = sys::receive_message(channel, 16);
  NetworkSockets sockets;
  if (!message || message->fds.size() != NetworkSockets::kCount) {
    ADD_FAILURE() << "the sockets did not come";
    return sockets;
  }
  sockets.steering = message->data == "t" ? Steering::Tproxy : Steering::Redirect;
  for (size_t i = 0; i < message->fds.size(); ++i) sockets.fds[i] = std::move(message->fds[i]);
  return sockets;
}

[[noreturn]] void end() {
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

// The program's process: `inside` runs once the other side serves.
pid_t start_inside(int channel, const std::function<void(int)>& inside) {
  pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  hand_over(channel, set_up_inside());
  static_cast<void>(sys::receive_message(channel, 16));
  inside(channel);
  end();
}

using Change = std::function<void(Outside&)>;

void serve(EffectivePolicy policy, const std::function<void(int)>& inside, const Change& change) {
  auto channel = sys::socketpair(SOCK_SEQPACKET).value();
  pid_t child = start_inside(channel.second.get(), inside);
  channel.second.reset();
  NetworkSockets sockets = take_over(channel.first.get());
  Outside outside;
  outside.context.set(std::move(policy));
  EXPECT_TRUE(outside.resolver->use_servers({outside.upstream.server()}));
  outside.relay = UdpRelay::start(outside.context, *outside.resolver, *outside.dns, sockets).value();
  // What the program asks for: a change of the policy, or its end.
  EXPECT_TRUE(outside.context.loop().add(channel.first.get(), EPOLLIN, [&](uint32_t) {
    auto message = sys::receive_message(channel.first.get(), 16);
    if (!message || message->data.empty()) return outside.context.loop().stop();
    change(outside);
    EXPECT_TRUE(sys::send_message(channel.first.get(), "done"));
  }));
  EXPECT_TRUE(sys::send_message(channel.first.get(), "go"));
  outside.context.loop().run();
  outside.relay.reset();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "inside, see above";
}

void in_two_namespaces(EffectivePolicy policy, const std::function<void(int)>& inside, const Change& change = {}) {
  pid_t child = ::fork();
  if (child == 0) {
    uid_t user = ::geteuid();
    gid_t group = ::getegid();
    ::prctl(PR_SET_DUMPABLE, 1);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
        !sys::write_id_maps(::getpid(), {{0, user, 1}}, {{0, group, 1}}, sys::Setgroups::Deny) ||
        std::system(
            "ip link set lo up && ip address add 44.10.0.80/32 dev lo && ip address add 2a10::80/128 dev lo nodad") !=
            0)
      ::_exit(2);
    serve(std::move(policy), inside, change);
    end();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "see above";
}

void ask_for_change(int channel) {
  EXPECT_TRUE(sys::send_message(channel, "change"));
  EXPECT_TRUE(sys::receive_message(channel, 16));
}

Address resolve_inside(const std::string& name) {
  Answer answer = Client("10.0.2.3", 53).ask(query(1, name, dns::kA));
  auto found = dns::parse_addresses(answer.text, name, dns::kA);
  EXPECT_TRUE(found && found->addresses.size() == 1) << name << ": " << answer.error;
  return found && !found->addresses.empty() ? found->addresses[0] : Address{};
}

EffectivePolicy full(std::vector<std::string> block = {}) {
  return policy_of(NetworkTier::Elevated, {kServer4, std::string("[") + kServer6 + "]"}, std::move(block));
}

// -----------------------------------------------------------------------------------------------------------------------

TEST(UdpRelay, DnsIsAnsweredFromWhateverAddressWasAsked) {
  in_two_namespaces(policy_of(NetworkTier::Standard, {"echo.example"}), [](int) {
    for (const char* server : {"10.0.2.3", "8.8.8.8", "127.0.0.1", "::1", "2001:4860:4860::8888"}) {
      // The socket is connected: an answer from another address would not be received.
      Answer answer = Client(server, 53).ask(query(0x1234, "echo.example", dns::kA));
      EXPECT_EQ(answer.error, 0) << server;
      auto found = dns::parse_addresses(answer.text, "echo.example", dns::kA);
      ASSERT_TRUE(found && found->addresses.size() == 1) << server;
      EXPECT_TRUE(is_synthetic(found->addresses[0]));
      EXPECT_EQ(Client(server, 53).ask(query(1, "evil.example", dns::kA)).text[3] & 0xf, 3) << server;
    }
  });
}

TEST(UdpRelay, OtherUdpIsRefusedAtOnceBelowTheFullTiers) {
  in_two_namespaces(policy_of(NetworkTier::Standard, {"echo.example", kServer4}), [](int) {
    for (const char* server : {kServer4, kServer6, "10.0.2.3", "169.254.169.254"})
      EXPECT_EQ(Client(server, kEcho).ask("hello").error, ECONNREFUSED) << server;
    EXPECT_EQ(Client(to_text(resolve_inside("echo.example")), kEcho).ask("hello").error, ECONNREFUSED);
  });
}

TEST(UdpRelay, FullTiersRelayByAddressAndByName) {
  in_two_namespaces(full(), [](int) {
    for (std::string server : {std::string(kServer4), std::string(kServer6), to_text(resolve_inside("echo.example"))}) {
      Client client(server, kEcho);
      for (std::string text : {std::string("hello"), std::string(), std::string(1400, 'x'), std::string(60'000, 'y')}) {
        Answer answer = client.ask(text);
        EXPECT_EQ(answer.error, 0) << server;
        EXPECT_EQ(answer.text, text) << server;
      }
    }
  });
}

TEST(UdpRelay, FullTiersRefuseWhatIsNotPublic) {
  in_two_namespaces(full({"44.10.0.81"}), [](int) {
    for (const char* server : {"10.1.2.3", "169.254.169.254", "192.168.1.1", "100.100.100.200", "fd00::1", "10.0.2.3",
                               "198.18.5.5", "44.10.0.81"})
      EXPECT_EQ(Client(server, kEcho).ask("hello").error, ECONNREFUSED) << server;
    EXPECT_EQ(Client(to_text(resolve_inside("inner.example")), kEcho).ask("hello").error, ECONNREFUSED);
  });
}

TEST(UdpRelay, APortThatIsClosedOutsideIsClosedInside) {
  in_two_namespaces(full(), [](int) {
    for (const char* server : {kServer4, kServer6})
      EXPECT_EQ(Client(server, kClosed).ask("hello").error, ECONNREFUSED) << server;
  });
}

TEST(UdpRelay, MoreFlowsThanThereMayBeGoOnWorking) {
  in_two_namespaces(full(), [](int) {
    for (size_t i = 0; i < 2 * UdpRelay::kMostFlows + 10; ++i)
      EXPECT_EQ(Client(kServer4, kEcho).ask("hello").text, "hello") << i;
  });
}

TEST(UdpRelay, AChangedPolicyEndsFlows) {
  auto change = [](Outside& outside) {
    EXPECT_GT(outside.context.in, 0u);
    EXPECT_EQ(outside.context.in, outside.context.out);
    outside.context.set(full({kServer4}));
    outside.relay->policy_changed();
    size_t closed = 0;
    for (const auto& entry : outside.context.logged) closed += entry.stage == NetworkEntry::Stage::Closed;
    EXPECT_EQ(closed, 1u);
  };
  in_two_namespaces(
      full(),
      [](int channel) {
        Client four(kServer4, kEcho), six(kServer6, kEcho);
        EXPECT_EQ(four.ask("hello").text, "hello");
        EXPECT_EQ(six.ask("hello").text, "hello");
        ask_for_change(channel);
        EXPECT_EQ(four.ask("hello").error, ECONNREFUSED);
        EXPECT_EQ(six.ask("hello").text, "hello");
      },
      change);
}

}  // namespace
}  // namespace cove::net::testing
