#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gateway/inside.h"
#include "net/gateway_client.h"
#include "net/rule.h"

namespace cove::test {

inline constexpr int kPatienceMs = 10'000;

// One end of a TCP connection, blocking; every wait ends after kPatienceMs.
class Peer {
 public:
  Peer() = default;
  explicit Peer(UniqueFd fd);
  int fd() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void send(std::string_view text);
  std::string receive(size_t size);  // that many bytes, or fewer before the end
  std::string receive_rest();        // up to the end
  // How the connection ended: 0 in order, or errno. Reads what is before the end.
  int end();
  void shut() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  // Whether something arrives within a time that is long enough for what was sent before.
  bool has_bytes(int patience_ms = 200);

 private:
  UniqueFd fd_;
};

// A server of the world outside, on a port of the loopback interface.
class Server {
 public:
  Server();
  uint16_t port() const { return port_; }
  Peer accept();
  // Whether a connection arrives within that time.
  bool is_called(int patience_ms = 200);

 private:
  UniqueFd listener_;
  uint16_t port_ = 0;
};

// A real cove-gateway, the real client of it, and a namespace whose sockets it serves. The names web.example.org,
// other.example.org and db.example.org are 127.0.0.1, for a DNS server of the test's own.
class GatewayFixture : public ::testing::Test, public net::Gateway::Listener {
 public:
  void entry(net::NetworkEntry entry) override;
  void access_requested(const std::string&, const std::string&, uint16_t, const std::string&) override {}

 protected:
  GatewayFixture();
  ~GatewayFixture() override;
  static constexpr const char* kSandbox = "sb_1";
  static constexpr const char* kWeb = "web.example.org";

  void SetUp() override;
  void TearDown() override;

  void allow(std::vector<std::string> rules);
  void set_policy(NetworkPolicy policy);
  static NetworkPolicy standard(std::vector<std::string> rules);

  // The address that a name is answered with inside; nothing where there is no such name.
  std::optional<net::Address> look_up(const std::string& name);
  Peer dial(const net::Address& address, uint16_t port);
  Peer dial(const std::string& name, uint16_t port);
  // A tunnel of the HTTP proxy; the answer's first line is in `status`.
  Peer dial_proxy(const std::string& host, uint16_t port, std::string* status);

  net::NetworkCounters counters();
  std::vector<net::NetworkEntry> entries();  // up to now
  // Whether there is one of that stage, and code.
  bool logged(net::NetworkEntry::Stage stage, const std::string& code = "");
  pid_t gateway_pid() const { return gateway_pid_; }
  net::Gateway& gateway() { return *gateway_; }
  // Before SetUp.
  uint64_t descriptors_ = 0;  // that the gateway may have open; 0: as many as this process
  net::GatewaySettings settings_;

 private:
  struct Dns;
  Result<UniqueFd> start_gateway();

  std::unique_ptr<Inside> inside_;
  std::unique_ptr<Dns> dns_;
  std::mutex mutex_;
  std::vector<net::NetworkEntry> entries_;
  std::atomic<pid_t> gateway_pid_ = -1;
  std::vector<pid_t> started_;
  uint64_t version_ = 0;
  std::unique_ptr<net::Gateway> gateway_;
};

#define ASSERT_REFUSED(expression) ASSERT_EQ(expression, ECONNRESET)

}  // namespace cove::test
