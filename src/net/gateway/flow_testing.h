#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "net/authority.h"
#include "net/gateway/gateway_tls.h"
#include "net/gateway/http_flow.h"

// Real connections on loopback for tests of flows: servers in threads, clients that block, and a gateway in between.
namespace cove::net {

// A blocking connection, with or without TLS. Reads give up after a long while: no test hangs.
class Wire {
 public:
  explicit Wire(UniqueFd fd, TlsSession session = nullptr) : fd_(std::move(fd)), session_(std::move(session)) {
    const timeval patience = {30, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (session_) SSL_set_fd(session_.get(), fd_.get());
  }
  bool handshake() { return !session_ || SSL_do_handshake(session_.get()) == 1; }
  // As much as comes at once; empty at the end.
  std::string read_some(size_t most = 65536) {
    std::string data(most, '\0');
    size_t count = 0;
    if (session_) {
      if (SSL_read_ex(session_.get(), data.data(), most, &count) != 1) count = 0;
    } else if (ssize_t got = ::recv(fd_.get(), data.data(), most, 0); got > 0) {
      count = static_cast<size_t>(got);
    } else {
      error_ = got < 0 ? errno : 0;
    }
    data.resize(count);
    return data;
  }
  bool write(std::string_view data) {
    while (!data.empty()) {
      size_t count = 0;
      if (session_) {
        if (SSL_write_ex(session_.get(), data.data(), data.size(), &count) != 1) return false;
      } else {
        ssize_t sent = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        count = static_cast<size_t>(sent);
      }
      data.remove_prefix(count);
    }
    return true;
  }
  // Up to and with the mark; what there is at the end where it does not come.
  std::string read_until(std::string_view mark) {
    size_t at;
    while ((at = held_.find(mark)) == std::string::npos) {
      std::string more = read_some();
      if (more.empty()) return std::exchange(held_, "");
      held_ += more;
    }
    std::string taken = held_.substr(0, at + mark.size());
    held_.erase(0, at + mark.size());
    return taken;
  }
  std::string read_head() { return read_until("\r\n\r\n"); }
  std::string read_exactly(size_t count) {
    while (held_.size() < count) {
      std::string more = read_some();
      if (more.empty()) break;
      held_ += more;
    }
    std::string taken = held_.substr(0, count);
    held_.erase(0, taken.size());
    return taken;
  }
  std::string read_all() {
    std::string all = std::exchange(held_, "");
    for (std::string more = read_some(); !more.empty(); more = read_some()) all += more;
    return all;
  }
  void shut() {
    if (session_) SSL_shutdown(session_.get());
    ::shutdown(fd_.get(), SHUT_WR);
  }
  int fd() const { return fd_.get(); }
  SSL* session() const { return session_.get(); }
  int error() const { return error_; }

 private:
  UniqueFd fd_;
  TlsSession session_;
  std::string held_;
  int error_ = 0;
};

struct Listening {
  UniqueFd fd;
  uint16_t port = 0;
};
inline Listening listen_on_loopback() {
  Listening listening{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  EXPECT_EQ(::bind(listening.fd.get(), reinterpret_cast<sockaddr*>(&place), size), 0);
  EXPECT_EQ(::listen(listening.fd.get(), 1024), 0);
  ::getsockname(listening.fd.get(), reinterpret_cast<sockaddr*>(&place), &size);
  listening.port = ntohs(place.sin_port);
  return listening;
}
inline UniqueFd connect_to_loopback(uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  place.sin_port = htons(port);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) fd.reset();
  return fd;
}

inline EffectivePolicy policy_with_authority(const std::string& seed) {
  const int64_t now = time(nullptr) * 1000ll;
  auto authority = make_authority(std::string(32, seed[0]), seed, now - 3'600'000, now + 1000 * 3'600'000ll);
  EXPECT_TRUE(authority);
  EffectivePolicy policy;
  policy.version = 1;
  policy.authority_certificate = authority->certificate;
  policy.authority_key = authority->key;
  return policy;
}
// The authority of servers outside.
inline const EffectivePolicy& world_authority() {
  static const EffectivePolicy kWorld = policy_with_authority("world");
  return kWorld;
}

// A server: each connection is served by a function in a thread of its own.
class Origin {
 public:
  using Serve = std::function<void(Wire&)>;
  // With a name, TLS with a certificate for that name of the authority.
  explicit Origin(Serve serve, std::string tls_name = "", EffectivePolicy authority = world_authority())
      : serve_(std::move(serve)),
        name_(std::move(tls_name)),
        authority_(std::move(authority)),
        tls_(std::move(*GatewayTls::create())),
        listening_(listen_on_loopback()),
        accepting_([this] { accept(); }) {}
  ~Origin() {
    ::shutdown(listening_.fd.get(), SHUT_RDWR);
    accepting_.join();
    for (std::thread& each : threads_) each.join();
  }
  uint16_t port() const { return listening_.port; }
  int connections() const { return connections_; }

 private:
  void accept() {
    for (;;) {
      UniqueFd fd(::accept4(listening_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd) return;
      ++connections_;
      TlsSession session = name_.empty() ? nullptr : std::move(*tls_->new_server(name_, authority_));
      // Whatever name is asked for.
      if (session) SSL_CTX_set_tlsext_servername_callback(SSL_get_SSL_CTX(session.get()), nullptr);
      threads_.emplace_back([this, wire = std::make_shared<Wire>(std::move(fd), std::move(session))] {
        if (wire->handshake()) serve_(*wire);
      });
    }
  }

  Serve serve_;
  std::string name_;
  EffectivePolicy authority_;
  std::unique_ptr<GatewayTls> tls_;
  Listening listening_;
  std::atomic<int> connections_ = 0;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

// A gateway of flows: what connects to it is given to a flow.
class TestGateway final : private FlowContext {
 public:
  static constexpr uint16_t kOwnPort = 1;  // that of the server is the one where it listens itself

  explicit TestGateway(HttpFlow::Inside inside, std::string name = "api.example.org", uint16_t port = 0)
      : inside_(inside),
        name_(std::move(name)),
        port_(port != 0                         ? port
              : inside == HttpFlow::Inside::Tls ? 443
                                                : 80),
        tls_(std::move(*GatewayTls::create())),
        loop_(std::move(*Loop::create())),
        listening_(listen_on_loopback()) {
    if (port_ == kOwnPort) port_ = listening_.port;
    EXPECT_TRUE(tls_->trust(world_authority().authority_certificate));
    policy_ = policy_with_authority("sandbox");
  }
  ~TestGateway() override { stop(); }

  // Before start().
  std::map<std::string, uint16_t> servers;  // by name, or by address as text
  std::function<Verdict(const Target&)> decides = [](const Target&) {
    return Verdict{Decision::Allow, {}, {}, {}, {}};
  };
  EffectivePolicy policy_;
  std::optional<Address> address;
  uint64_t budget = UINT64_MAX;

  void start() {
    ASSERT_TRUE(loop_->add(listening_.fd.get(), EPOLLIN, [this](uint32_t) { accept(); }));
    ASSERT_EQ(::pipe(stop_), 0);
    ASSERT_TRUE(loop_->add(stop_[0], EPOLLIN, [this](uint32_t) { loop_->stop(); }));
    thread_ = std::thread([this] { loop_->run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    ::close(stop_[1]);
    thread_.join();
    flows_.clear();
    ::close(stop_[0]);
  }
  uint16_t port() const { return listening_.port; }
  Wire connect() { return Wire(connect_to_loopback(port())); }
  // Trusts the sandbox's authority only.
  Wire connect_tls(const std::string& name = "api.example.org") {
    static std::map<std::string, std::unique_ptr<GatewayTls>> clients;
    auto& client = clients[policy_.authority_certificate];
    if (!client) {
      client = std::move(*GatewayTls::create());
      EXPECT_TRUE(client->trust(policy_.authority_certificate));
    }
    return Wire(connect_to_loopback(port()), std::move(*client->new_client(name)));
  }

  std::vector<Target> decided() {
    std::lock_guard lock(mutex_);
    return decided_;
  }
  std::vector<std::pair<Target, Verdict>> failures() {
    std::lock_guard lock(mutex_);
    return failures_;
  }
  uint64_t in_bytes() const { return in_; }
  uint64_t out_bytes() const { return out_; }
  // Waits until that many flows are over.
  void wait_for_closed(int count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return closed_ >= count; }));
  }
  // In the loop.
  void call(std::function<void(std::vector<std::unique_ptr<HttpFlow>>&)> what) {
    std::unique_lock lock(mutex_);
    bool done = false;
    calls_.push_back([&] {
      what(flows_);
      std::lock_guard inner(mutex_);
      done = true;
      changed_.notify_all();
    });
    lock.unlock();
    UniqueFd poke = connect_to_loopback(port());
    lock.lock();
    changed_.wait(lock, [&] { return done; });
  }

 private:
  void accept() {
    UniqueFd fd(::accept4(listening_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    std::vector<std::function<void()>> calls;
    {
      std::lock_guard lock(mutex_);
      calls.swap(calls_);
    }
    for (auto& each : calls) each();
    if (!fd || !calls.empty()) return;
    HttpFlow::Order order;
    order.inside = inside_;
    order.client = std::move(fd);
    order.name = inside_ == HttpFlow::Inside::Proxy ? "" : name_;
    order.port = port_;
    order.address = address;
    flows_.push_back(HttpFlow::start(*loop_, *this, std::move(order)));
  }

  Verdict decide(const Target& target) override {
    std::lock_guard lock(mutex_);
    decided_.push_back(target);
    return decides(target);
  }
  void failed(const Target& target, const Verdict& verdict) override {
    std::lock_guard lock(mutex_);
    failures_.emplace_back(target, verdict);
  }
  void connect(const Target& target, std::function<void(Result<UniqueFd>)> connected) override {
    auto found = servers.find(target.name.empty() ? to_text(*target.address) : target.name);
    loop_->later([connected = std::move(connected), port = found == servers.end() ? uint16_t(0) : found->second] {
      if (port == 0) return connected(fail(Code::Unavailable, "no such server"));
      if (port == 1) return connected(fail(Code::Denied, "its address is private"));
      UniqueFd fd = connect_to_loopback(port);
      fd ? connected(std::move(fd)) : connected(fail(Code::Unavailable, "connect: refused"));
    });
  }
  void count(uint64_t in_bytes, uint64_t out_bytes) override {
    in_ += in_bytes;
    out_ += out_bytes;
  }
  const EffectivePolicy& policy() const override { return policy_; }
  GatewayTls& tls() override { return *tls_; }
  bool over_budget() const override { return in_ + out_ > budget; }
  void closed() override {
    std::lock_guard lock(mutex_);
    ++closed_;
    changed_.notify_all();
  }

  HttpFlow::Inside inside_;
  std::string name_;
  uint16_t port_;
  std::unique_ptr<GatewayTls> tls_;
  std::unique_ptr<Loop> loop_;
  Listening listening_;
  std::vector<std::unique_ptr<HttpFlow>> flows_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Target> decided_;
  std::vector<std::pair<Target, Verdict>> failures_;
  std::vector<std::function<void()>> calls_;
  std::atomic<uint64_t> in_ = 0, out_ = 0;
  int closed_ = 0;
  int stop_[2] = {-1, -1};
  std::thread thread_;
};

// --- what tests say and hear
// -------------------------------------------------------------------------------------------

inline std::string with_body(std::string_view body, std::string_view headers = "") {
  return concat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n", headers, "\r\n", body);
}

// Answers every request with its own head.
inline void echo(Wire& wire) {
  for (std::string head = wire.read_head(); !head.empty(); head = wire.read_head()) wire.write(with_body(head));
}

inline std::string body_of_next(Wire& wire) {
  const std::string head = wire.read_head();
  const size_t at = head.find("Content-Length: ");
  EXPECT_NE(at, std::string::npos) << head;
  return at == std::string::npos ? "" : wire.read_exactly(std::stoul(head.substr(at + 16)));
}

inline Verdict allow() { return {Decision::Allow, {}, {}, {}, {}}; }
inline Verdict deny(const std::string& why = "it is not on the list") {
  return {Decision::Deny, "", "sandbox", why, "not_allowed"};
}

inline std::string get(std::string_view path, std::string_view headers = "",
                       std::string_view host = "api.example.org") {
  return concat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n", headers, "\r\n");
}

inline int status_of(const std::string& head) { return head.size() > 12 ? std::atoi(head.c_str() + 9) : 0; }

// What a gateway in cleartext makes of the bytes that one client sends, until the end.
inline std::string conversation(TestGateway& gateway, std::string_view bytes) {
  Wire client = gateway.connect();
  client.write(bytes);
  client.shut();
  return client.read_all();
}

}  // namespace cove::net
