#include "gateway/fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "net/gateway/gateway.h"
#include "net/gateway/socket_address.h"
#include "net/gateway/test_dns.h"
#include "support/child.h"
#include "sys/socket.h"

namespace cove::test {
namespace {

using net::Address;
using net::SocketAddress;

const char* kLoopback = "127.0.0.1";

bool wait_for(int fd, short events, int patience_ms) {
  pollfd poll = {.fd = fd, .events = events, .revents = 0};
  return ::poll(&poll, 1, patience_ms) == 1;
}

void set_patience(int fd) {
  timeval patience = {kPatienceMs / 1000, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

Address address_in(const std::string& answer) {
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::memcpy(address.bytes.data() + 12, answer.data() + answer.size() - 4, 4);
  return address;
}

}  // namespace

Peer::Peer(UniqueFd fd) : fd_(std::move(fd)) {
  if (fd_) set_patience(fd_.get());
}

void Peer::send(std::string_view text) {
  ASSERT_EQ(::send(fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string Peer::receive(size_t size) {
  std::string text(size, '\0');
  ssize_t got = ::recv(fd(), text.data(), size, MSG_WAITALL);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

std::string Peer::receive_rest() {
  std::string text;
  char buffer[64 * 1024];
  for (ssize_t got; (got = ::recv(fd(), buffer, sizeof buffer, 0)) > 0;) text.append(buffer, static_cast<size_t>(got));
  return text;
}

int Peer::end() {
  char buffer[64 * 1024];
  ssize_t got;
  do {
    got = ::recv(fd(), buffer, sizeof buffer, 0);
  } while (got > 0);
  return got == 0 ? 0 : errno;
}

bool Peer::has_bytes(int patience_ms) {
  char byte;
  return wait_for(fd(), POLLIN, patience_ms) && ::recv(fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

Server::Server() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  SocketAddress any(net::parse_address(kLoopback).value(), 0);
  EXPECT_EQ(::bind(listener_.get(), any.get(), any.size()), 0);
  EXPECT_EQ(::listen(listener_.get(), 4096), 0);
  socklen_t size = sizeof(sockaddr_storage);
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&any.storage()), &size);
  port_ = any.port();
}

bool Server::is_called(int patience_ms) { return wait_for(listener_.get(), POLLIN, patience_ms); }

Peer Server::accept() {
  if (!is_called(kPatienceMs)) return Peer();
  return Peer(UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
}

struct GatewayFixture::Dns {
  std::unique_ptr<net::Loop> loop = net::Loop::create().value();
  net::testing::TestDns dns{*loop, net::testing::table_of({net::testing::address("web.example.org", kLoopback),
                                                           net::testing::address("other.example.org", kLoopback),
                                                           net::testing::address("db.example.org", kLoopback)})};
  sys::SocketPair stop = sys::socketpair(SOCK_STREAM).value();
  std::thread thread;
  Dns() {
    EXPECT_TRUE(loop->add(stop.first.get(), POLLIN, [this](uint32_t) { loop->stop(); }));
    thread = std::thread([this] { loop->run(); });
  }
  ~Dns() {
    stop.second.reset();
    thread.join();
  }
};

GatewayFixture::GatewayFixture() = default;
GatewayFixture::~GatewayFixture() = default;

void GatewayFixture::SetUp() {
  auto inside = Inside::create();
  if (!inside) {
    if (::getenv("COVE_TEST_STRICT")) FAIL() << inside.error().message();
    GTEST_SKIP() << "no network namespace can be set up here: " << inside.error().message();
  }
  inside_ = std::move(*inside);
  dns_ = std::make_unique<Dns>();
  settings_.resolvers = {dns_->dns.server()};
  auto listener = std::shared_ptr<net::Gateway::Listener>(this, [](net::Gateway::Listener*) {});
  gateway_ = net::make_gateway_client([this] { return start_gateway(); }, settings_, listener);
  ASSERT_TRUE(gateway_->attach(kSandbox, inside_->take_sockets()));
}

void GatewayFixture::TearDown() {
  gateway_.reset();
  for (pid_t pid : started_) ::waitpid(pid, nullptr, 0);
}

Result<UniqueFd> GatewayFixture::start_gateway() {
  auto ends = COVE_TRY(sys::socketpair(SOCK_SEQPACKET));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Through another number, so that the descriptor is kept even if it is that one already.
  constexpr int kOther = 100;
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), kOther);
  posix_spawn_file_actions_adddup2(&actions, kOther, net::kGatewayChannelFd);
  posix_spawn_file_actions_addclose(&actions, kOther);
  std::string program = build_folder() + "/cove-gateway", version = COVE_VERSION;
  std::string shell = "/bin/sh", option = "-c";
  std::string line = concat("ulimit -n ", descriptors_, "; exec ", program, " ", version);
  char* arguments[] = {program.data(), version.data(), nullptr};
  char* limited[] = {shell.data(), option.data(), line.data(), nullptr};
  bool is_limited = descriptors_ > 0;
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, is_limited ? shell.c_str() : program.c_str(), &actions, nullptr,
                            is_limited ? limited : arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Error::from_errno(error, concat("start ", program)));
  started_.push_back(pid);
  gateway_pid_ = pid;
  return std::move(ends.first);
}

NetworkPolicy GatewayFixture::standard(std::vector<std::string> rules) {
  NetworkPolicy policy;
  policy.tier = NetworkTier::Standard;
  policy.enabled = true;
  policy.allow = std::move(rules);
  return policy;
}

void GatewayFixture::allow(std::vector<std::string> rules) {
  rules.push_back(kLoopback);  // where the test's servers are
  set_policy(standard(std::move(rules)));
}

void GatewayFixture::set_policy(NetworkPolicy policy) {
  net::EffectivePolicy effective;
  effective.version = ++version_;
  effective.layers = {{.name = "sandbox", .role = net::PolicyLayer::Role::Own, .policy = std::move(policy)}};
  auto set = gateway_->set_policy(kSandbox, effective);
  ASSERT_TRUE(set) << set.error().message();
}

std::optional<Address> GatewayFixture::look_up(const std::string& name) {
  UniqueFd socket = inside_->socket(AF_INET, SOCK_DGRAM);
  SocketAddress server(net::parse_address(kGatewayAddress4).value(), 53);
  set_patience(socket.get());
  std::string question = net::testing::query(7, name, net::dns::kA);
  if (::sendto(socket.get(), question.data(), question.size(), 0, server.get(), server.size()) < 0) return {};
  std::string answer(512, '\0');
  ssize_t size = ::recv(socket.get(), answer.data(), answer.size(), 0);
  answer.resize(size < 0 ? 0 : static_cast<size_t>(size));
  bool found = answer.size() > 12 && (answer[3] & 0xf) == 0 && answer[7] == 1;
  return found ? std::optional(address_in(answer)) : std::nullopt;
}

Peer GatewayFixture::dial(const Address& address, uint16_t port) {
  Peer peer(inside_->socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_STREAM));
  SocketAddress to(address, port);
  EXPECT_EQ(::connect(peer.fd(), to.get(), to.size()), 0) << std::strerror(errno);
  return peer;
}

Peer GatewayFixture::dial(const std::string& name, uint16_t port) {
  auto address = look_up(name);
  EXPECT_TRUE(address) << name;
  return address ? dial(*address, port) : Peer();
}

Peer GatewayFixture::dial_proxy(const std::string& host, uint16_t port, std::string* status) {
  Peer peer = dial(net::parse_address(kGatewayAddress4).value(), 3128);
  peer.send(concat("CONNECT ", host, ":", port, " HTTP/1.1\r\nHost: ", host, ":", port, "\r\n\r\n"));
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    std::string byte = peer.receive(1);
    if (byte.empty()) break;
    head += byte;
  }
  *status = head.substr(0, head.find('\r'));
  return peer;
}

void GatewayFixture::entry(net::NetworkEntry entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

net::NetworkCounters GatewayFixture::counters() { return gateway_->sync(kSandbox).value_or(net::NetworkCounters()); }

std::vector<net::NetworkEntry> GatewayFixture::entries() {
  (void)gateway_->sync(kSandbox);
  std::lock_guard lock(mutex_);
  return entries_;
}

bool GatewayFixture::logged(net::NetworkEntry::Stage stage, const std::string& code) {
  for (const auto& entry : entries())
    if (entry.stage == stage && (code.empty() || entry.code == code)) return true;
  return false;
}

}  // namespace cove::test
