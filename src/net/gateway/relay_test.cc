#include "net/gateway/relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "sys/socket.h"

namespace cove::net {
namespace {

using namespace std::chrono_literals;

struct Pair {
  UniqueFd client;
  UniqueFd accepted;  // non-blocking
};

Pair tcp_pair(int receive_buffer = 0) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), any, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), any, &size), 0);
  Pair pair;
  pair.client.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (receive_buffer > 0) {
    EXPECT_EQ(::setsockopt(pair.client.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer), 0);
  }
  EXPECT_EQ(::connect(pair.client.get(), any, size), 0);
  pair.accepted.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  reset_on_close(pair.accepted.get());
  return pair;
}

// A relay between two connections, on a loop of its own thread. `inside` and `outside` are the ends of the program and
// of the server.
class RelayTest : public ::testing::Test, public Relay::Owner {
 protected:
  void start(Relay::Outbound outbound = Relay::Outbound::Open) {
    relay_ = std::make_unique<Relay>(*loop_, pipes_, *this, std::move(left_.accepted), std::move(right_.accepted));
    constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    ASSERT_TRUE(loop_->add(relay_->inside(), kEvents, [this](uint32_t events) {
      if (relay_) relay_->on_inside(events);
    }));
    ASSERT_TRUE(loop_->add(relay_->outside(), kEvents, [this](uint32_t events) {
      if (relay_) relay_->on_outside(events);
    }));
    relay_->forward("", outbound);
    ASSERT_TRUE(loop_->add(calls_.first.get(), EPOLLIN, [this](uint32_t) { take_call(); }));
    thread_ = std::thread([this] { loop_->run(); });
  }
  void TearDown() override {
    if (!thread_.joinable()) return;
    on_loop([this] { loop_->stop(); });
    thread_.join();
    relay_.reset();
  }
  // Runs it on the loop and waits for it.
  void on_loop(std::function<void()> call) {
    call_ = std::move(call);
    char byte = 0;
    ASSERT_EQ(::write(calls_.second.get(), &byte, 1), 1);
    ASSERT_EQ(::read(calls_.second.get(), &byte, 1), 1);
  }

  void moved(uint64_t in_bytes, uint64_t out_bytes) override { in_bytes_ += in_bytes, out_bytes_ += out_bytes; }
  void ended(Relay::End end) override {
    end_ = end;
    loop_->later([this] {
      loop_->remove(relay_->inside());
      loop_->remove(relay_->outside());
      relay_.reset();
    });
  }

  Pair left_ = tcp_pair(), right_ = tcp_pair();
  int inside() const { return left_.client.get(); }
  int outside() const { return right_.client.get(); }
  std::optional<Relay::End> end() {
    std::optional<Relay::End> end;
    on_loop([&] { end = end_; });
    return end;
  }
  Relay& relay() { return *relay_; }
  uint64_t in_bytes_ = 0, out_bytes_ = 0;
  std::optional<Relay::End> end_;
  PipePool pipes_;

 private:
  void take_call() {
    char byte;
    ASSERT_EQ(::read(calls_.first.get(), &byte, 1), 1);
    call_();
    ASSERT_EQ(::write(calls_.first.get(), &byte, 1), 1);
  }

  std::unique_ptr<Loop> loop_ = Loop::create().value();
  sys::SocketPair calls_ = sys::socketpair(SOCK_STREAM).value();
  std::function<void()> call_;
  std::unique_ptr<Relay> relay_;
  std::thread thread_;
};

void send_text(int socket, std::string_view text) {
  ASSERT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

std::string receive(int socket, size_t size) {
  std::string text(size, '\0');
  ssize_t got = ::recv(socket, text.data(), size, MSG_WAITALL);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

// 0 at the end of the stream, -1 with errno after a reset.
ssize_t receive_end(int socket) {
  char byte;
  return ::recv(socket, &byte, 1, 0);
}

// 0 where the stream ended in order, or errno.
int end_of(int socket) { return receive_end(socket) == 0 ? 0 : errno; }

// Whether something arrives within a time that is long enough for what has been sent.
bool has(int socket, short events, int patience_ms) {
  pollfd poll = {.fd = socket, .events = events, .revents = 0};
  return ::poll(&poll, 1, patience_ms) == 1;
}
bool readable(int socket) { return has(socket, POLLIN, 50); }
bool writable(int socket) { return has(socket, POLLOUT, 500); }

constexpr size_t kBlock = 256 * 1024;

// kBlock bytes of an endless stream, from that position on. Its period is no power of two.
std::string_view pattern(uint64_t position) {
  constexpr size_t kPeriod = 1'000'003;
  static const std::string bytes = [] {
    std::string made(kPeriod + kBlock, '\0');
    for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>((i % kPeriod) * 2654435761u >> 13);
    return made;
  }();
  return std::string_view(bytes).substr(position % kPeriod, kBlock);
}

void send_pattern(int socket, uint64_t size) {
  for (uint64_t sent = 0; sent < size;) {
    std::string_view part = pattern(sent).substr(0, size - sent);
    ASSERT_EQ(::send(socket, part.data(), part.size(), MSG_NOSIGNAL), static_cast<ssize_t>(part.size()));
    sent += part.size();
  }
  ::shutdown(socket, SHUT_WR);
}

// How many bytes of the pattern arrive before the end of the stream; stops at the first block with a wrong one.
uint64_t receive_pattern(int socket) {
  std::vector<char> block(kBlock);
  uint64_t received = 0;
  while (true) {
    ssize_t size = ::recv(socket, block.data(), block.size(), 0);
    if (size <= 0) return received;
    if (std::memcmp(block.data(), pattern(received).data(), static_cast<size_t>(size)) != 0) return received;
    received += static_cast<uint64_t>(size);
  }
}

TEST_F(RelayTest, MovesAGigabyteBothWaysAtOnceUnchanged) {
  constexpr uint64_t kSize = 1 << 30;
  start();
  uint64_t out = 0;
  std::thread sending_out([&] { send_pattern(inside(), kSize); });
  std::thread sending_in([&] { send_pattern(outside(), kSize); });
  std::thread receiving_out([&] { out = receive_pattern(outside()); });
  EXPECT_EQ(receive_pattern(inside()), kSize);
  for (std::thread* thread : {&sending_out, &sending_in, &receiving_out}) thread->join();
  EXPECT_EQ(out, kSize);
  EXPECT_EQ(end(), Relay::End::Orderly);
  EXPECT_EQ(in_bytes_, kSize);
  EXPECT_EQ(out_bytes_, kSize);
}

TEST_F(RelayTest, AHalfThatIsClosedLeavesTheOtherOpen) {
  start();
  send_text(inside(), "question");
  ::shutdown(inside(), SHUT_WR);
  EXPECT_EQ(receive(outside(), 8), "question");
  EXPECT_EQ(receive_end(outside()), 0);
  send_text(outside(), "answer");
  EXPECT_EQ(receive(inside(), 6), "answer");
  ::shutdown(outside(), SHUT_WR);
  EXPECT_EQ(receive_end(inside()), 0);
  EXPECT_EQ(end(), Relay::End::Orderly);
}

TEST_F(RelayTest, AResetIsPassedOnInBothDirections) {
  start();
  send_text(inside(), "x");
  EXPECT_EQ(receive(outside(), 1), "x");
  reset_on_close(right_.client.get());
  right_.client.reset();
  EXPECT_EQ(end_of(inside()), ECONNRESET);
  EXPECT_EQ(end(), Relay::End::Reset);
}

TEST_F(RelayTest, AResetIsPassedOnAfterTheHalfWasClosed) {
  start();
  ::shutdown(inside(), SHUT_WR);
  EXPECT_EQ(receive_end(outside()), 0);
  reset_on_close(left_.client.get());
  left_.client.reset();
  EXPECT_TRUE(has(outside(), POLLERR, 5000));
}

TEST_F(RelayTest, WhatIsHeldIsForwardedFirst) {
  start(Relay::Outbound::Held);
  send_text(outside(), "banner");
  EXPECT_EQ(receive(inside(), 6), "banner");
  send_text(inside(), "later");
  EXPECT_FALSE(readable(outside()));
  on_loop([&] { relay().forward("first ", Relay::Outbound::Held); });
  EXPECT_EQ(receive(outside(), 6), "first ");
  EXPECT_FALSE(readable(outside()));
  on_loop([&] { relay().forward("then ", Relay::Outbound::Open); });
  EXPECT_EQ(receive(outside(), 10), "then later");
}

TEST_F(RelayTest, AReaderThatIsStuckHoldsTheSenderBack) {
  right_ = tcp_pair(16 * 1024);
  start();
  std::string block(1 << 20, 'x');
  ::fcntl(inside(), F_SETFL, O_NONBLOCK);
  size_t taken = 0;
  constexpr size_t kMost = 64 << 20;
  while (taken < kMost && writable(inside())) {
    ssize_t sent = ::send(inside(), block.data(), block.size(), MSG_NOSIGNAL);
    if (sent > 0) taken += static_cast<size_t>(sent);
  }
  EXPECT_LT(taken, kMost);
}

TEST_F(RelayTest, PipesAreHeldOnlyWhileTheyHaveBytes) {
  start();
  for (int i = 0; i < 10; ++i) {
    send_text(inside(), "x");
    EXPECT_EQ(receive(outside(), 1), "x");
  }
  size_t descriptors = 0;
  on_loop([&] { descriptors = pipes_.kept(); });
  EXPECT_EQ(descriptors, 1u);
}

TEST_F(RelayTest, ItsDestructionIsAResetOnBothSides) {
  start();
  send_text(inside(), "x");
  EXPECT_EQ(receive(outside(), 1), "x");
  on_loop([&] { ended(Relay::End::Reset); });
  EXPECT_EQ(end_of(inside()), ECONNRESET);
  EXPECT_EQ(end_of(outside()), ECONNRESET);
}

}  // namespace
}  // namespace cove::net
