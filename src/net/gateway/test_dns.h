#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/gateway/dns_message.h"
#include "net/gateway/loop.h"
#include "net/gateway/socket_address.h"

// A DNS server for tests, over UDP and TCP on one port of the loopback interface.
namespace cove::net::testing {

inline std::string two(size_t value) { return {static_cast<char>(value >> 8), static_cast<char>(value)}; }
inline std::string wire_name(const std::string& name) { return dns::name_data(name).value(); }

// A query, as programs send it.
inline std::string query(uint16_t id, const std::string& name, uint16_t type, uint16_t klass = dns::kInternet) {
  std::string root(1, '\0');
  return two(id) + two(0x0100) + two(1) + two(0) + two(0) + two(0) + (name.empty() ? root : wire_name(name)) +
         two(type) + two(klass);
}

struct TestRecord {
  std::string owner;
  uint16_t type;
  uint32_t ttl;
  std::string data;
};
inline TestRecord alias(const std::string& owner, const std::string& target, uint32_t ttl = 60) {
  return {owner, dns::kCname, ttl, wire_name(target)};
}
inline TestRecord address(const std::string& owner, const std::string& text, uint32_t ttl = 60) {
  Address parsed = parse_address(text).value();
  return {owner, parsed.is_v4() ? dns::kA : dns::kAaaa, ttl, dns::address_data(parsed)};
}
inline std::string answer_to(const std::string& question, uint16_t flags, const std::vector<TestRecord>& records) {
  dns::Asked asked = dns::parse_question(question);
  std::string out = question.substr(0, 2) + two(0x8180 | flags) + two(1) + two(records.size()) + two(0) + two(0);
  out += asked.question.value().wire;
  for (const auto& record : records)
    out += wire_name(record.owner) + two(record.type) + two(dns::kInternet) + two(record.ttl >> 16) +
           two(record.ttl & 0xffff) + two(record.data.size()) + record.data;
  return out;
}

class TestDns {
 public:
  struct Asked {
    std::string message;
    std::string name;
    uint16_t type;
    bool over_tcp;
  };
  // Gives the answer; empty: none.
  using Answer = std::function<std::string(const Asked&)>;

  TestDns(Loop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {
    udp_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    tcp_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    bind_both();
    EXPECT_TRUE(loop_.add(udp_.get(), EPOLLIN, [this](uint32_t) { serve_udp(); }));
    EXPECT_TRUE(loop_.add(tcp_.get(), EPOLLIN, [this](uint32_t) { serve_tcp(); }));
  }
  ~TestDns() {
    loop_.remove(udp_.get());
    loop_.remove(tcp_.get());
    for (auto& [fd, owned] : open_) loop_.remove(fd);
  }

  std::string server() const { return "127.0.0.1:" + std::to_string(port_); }
  size_t asked(const std::string& name, uint16_t type) const {
    auto found = counts_.find({name, type});
    return found == counts_.end() ? 0 : found->second;
  }
  size_t over_tcp() const { return over_tcp_; }

 private:
  // A port that is free for both.
  void bind_both() {
    int one = 1;
    for (int i = 0; i < 100; ++i) {
      SocketAddress any(parse_address("127.0.0.1").value(), 0);
      ::bind(udp_.get(), any.get(), any.size());
      socklen_t size = sizeof(sockaddr_storage);
      ::getsockname(udp_.get(), reinterpret_cast<sockaddr*>(&any.storage()), &size);
      port_ = any.port();
      ::setsockopt(tcp_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      if (::bind(tcp_.get(), any.get(), any.size()) == 0 && ::listen(tcp_.get(), 16) == 0) return;
      udp_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
    ADD_FAILURE() << "no port is free";
  }

  std::string answer(const std::string& message, bool over_tcp) {
    dns::Asked asked = dns::parse_question(message);
    if (!asked.question) return {};
    ++counts_[{asked.question->name, asked.question->type}];
    return answer_({message, asked.question->name, asked.question->type, over_tcp});
  }

  void serve_udp() {
    char buffer[4096];
    SocketAddress from;
    socklen_t size = sizeof(sockaddr_storage);
    ssize_t got = ::recvfrom(udp_.get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from.storage()), &size);
    std::string reply = answer({buffer, static_cast<size_t>(got)}, false);
    if (!reply.empty()) ::sendto(udp_.get(), reply.data(), reply.size(), 0, from.get(), from.size());
  }

  void serve_tcp() {
    UniqueFd client(::accept4(tcp_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    int fd = client.get();
    EXPECT_TRUE(loop_.add(fd, EPOLLIN, [this, fd](uint32_t) { answer_tcp(fd); }));
    open_.emplace(fd, std::move(client));
  }
  void answer_tcp(int fd) {
    char buffer[4096];
    ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got <= 2) {
      loop_.remove(fd);
      open_.erase(fd);
      return;
    }
    for (std::string_view rest(buffer, static_cast<size_t>(got)); rest.size() > 2;) {
      size_t size = static_cast<size_t>(static_cast<uint8_t>(rest[0])) << 8 | static_cast<uint8_t>(rest[1]);
      ++over_tcp_;
      std::string reply = answer(std::string(rest.substr(2, size)), true);
      std::string framed = two(reply.size()) + reply;
      ::send(fd, framed.data(), framed.size(), MSG_NOSIGNAL);
      rest.remove_prefix(std::min(size + 2, rest.size()));
    }
  }

  Loop& loop_;
  Answer answer_;
  UniqueFd udp_, tcp_;
  uint16_t port_ = 0;
  size_t over_tcp_ = 0;
  std::map<std::pair<std::string, uint16_t>, size_t> counts_;
  std::map<int, UniqueFd> open_;
};

// The usual server: what its table has, for any type; else there is no such name.
inline TestDns::Answer table_of(std::vector<TestRecord> records) {
  return [records](const TestDns::Asked& asked) {
    std::vector<TestRecord> found;
    bool exists = false;
    std::string name = asked.name;
    for (const auto& record : records) {
      if (record.owner != name) continue;
      exists = true;
      if (record.type == dns::kCname || record.type == asked.type) found.push_back(record);
      if (record.type == dns::kCname)
        name = dns::parse_question(two(0) + two(0) + two(1) + two(0) + two(0) + two(0) + record.data + two(1) + two(1))
                   .question->name;
    }
    return answer_to(asked.message, exists ? 0 : 3, found);
  };
}

}  // namespace cove::net::testing
