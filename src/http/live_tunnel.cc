#include "http/live_tunnel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace cove::http {
namespace {

constexpr size_t kMostWaiting = 64 * 1024;
constexpr milliseconds kLook = std::chrono::hours(1);  // poll's longest
constexpr int kSecondsUntilProbe = 60;

using Attempt = Stream::Attempt;

// One end of what is relayed: attempts, none of which waits.
class End {
 public:
  virtual ~End() = default;
  virtual int fd() const = 0;
  virtual bool holds_bytes() const { return false; }
  virtual Result<Attempt> read(std::span<char> room) = 0;
  virtual Result<Attempt> write(std::string_view data) = 0;
  virtual void finish() = 0;
};

class PeerEnd final : public End {
 public:
  explicit PeerEnd(Wire& wire) : wire_(wire) {}
  int fd() const override { return wire_.stream().socket(); }
  bool holds_bytes() const override { return !wire_.buffered().empty() || wire_.stream().holds_bytes(); }
  Result<Attempt> read(std::span<char> room) override {
    std::string_view early = wire_.buffered().substr(0, room.size());
    if (early.empty()) return wire_.stream().try_read(room);
    std::copy(early.begin(), early.end(), room.begin());
    wire_.use(early.size());
    return Attempt{.bytes = early.size()};
  }
  Result<Attempt> write(std::string_view data) override {
    iovec piece{.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};
    return wire_.stream().try_write({&piece, 1}, Stream::More::No);
  }
  void finish() override { wire_.stream().finish(); }

 private:
  Wire& wire_;
};

// Whether the socket blocks is not for this process alone to say: each call is told not to.
class SocketEnd final : public End {
 public:
  explicit SocketEnd(int socket) : socket_(socket) {}
  int fd() const override { return socket_; }
  Result<Attempt> read(std::span<char> room) override {
    return attempt(::recv(socket_, room.data(), room.size(), MSG_DONTWAIT), POLLIN);
  }
  Result<Attempt> write(std::string_view data) override {
    return attempt(::send(socket_, data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL), POLLOUT);
  }
  void finish() override { ::shutdown(socket_, SHUT_WR); }

 private:
  static Result<Attempt> attempt(ssize_t count, short event) {
    if (count >= 0) return Attempt{.bytes = static_cast<size_t>(count)};
    if (errno == EAGAIN || errno == EINTR) return Attempt{.blocked = event};
    return fail(Error::from_errno(errno, "relay").as(Code::Unavailable));
  }
  int socket_;
};

// One direction. What was read and is not written yet waits here.
class Direction {
 public:
  Direction(End& from, End& to) : from_(from), to_(to), data_(kMostWaiting) {}

  void begin_with(std::string_view early) {
    data_.assign(early.begin(), early.end());
    data_.resize(std::max(early.size(), kMostWaiting));
    end_ = early.size();
  }

  bool over() const { return finished_; }
  // What poll is asked of the two ends.
  short wants_of_source() const { return end_seen_ || begin_ < end_ ? 0 : wanted_of_source_; }
  short wants_of_target() const { return begin_ < end_ ? wanted_of_target_ : 0; }
  bool can_go_on() const { return !end_seen_ && begin_ == end_ && from_.holds_bytes(); }

  Result<void> move() {
    if (begin_ == end_ && !end_seen_) COVE_TRY(fill());
    if (begin_ < end_) COVE_TRY(drain());
    if (begin_ == end_ && end_seen_ && !std::exchange(finished_, true)) to_.finish();
    return {};
  }

 private:
  Result<void> fill() {
    Attempt attempt = COVE_TRY(from_.read(data_));
    wanted_of_source_ = attempt.blocked ? attempt.blocked : POLLIN;
    if (attempt.blocked) return {};
    begin_ = 0;
    end_ = attempt.bytes;
    end_seen_ = end_ == 0;
    return {};
  }

  Result<void> drain() {
    Attempt attempt = COVE_TRY(to_.write({data_.data() + begin_, end_ - begin_}));
    wanted_of_target_ = attempt.blocked ? attempt.blocked : POLLOUT;
    begin_ += attempt.bytes;
    return {};
  }

  End& from_;
  End& to_;
  std::vector<char> data_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool end_seen_ = false;
  bool finished_ = false;
  short wanted_of_source_ = POLLIN;
  short wanted_of_target_ = POLLOUT;
};

// A peer that vanished without a word is noticed after a few minutes.
void notice_vanished(int socket) {
  int on = 1, idle = kSecondsUntilProbe;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
}

}  // namespace

void LiveTunnel::relay(int socket, std::string_view early) {
  notice_vanished(wire_.stream().socket());
  PeerEnd peer(wire_);
  SocketEnd inside(socket);
  Direction in(peer, inside), out(inside, peer);
  out.begin_with(early);
  while (!in.over() || !out.over()) {
    if (!in.move() || !out.move()) return;
    const short of_peer = static_cast<short>(in.wants_of_source() | out.wants_of_target());
    const short of_inside = static_cast<short>(out.wants_of_source() | in.wants_of_target());
    // One that was reset is told of all the same, but of the inner one when there is room for what it has sent before.
    pollfd fds[] = {{.fd = peer.fd(), .events = of_peer, .revents = 0},
                    {.fd = of_inside ? inside.fd() : -1, .events = of_inside, .revents = 0},
                    {.fd = wire_.stop_fd(), .events = POLLIN, .revents = 0}};
    poll_until(fds, in.can_go_on() ? Clock::time_point() : deadline_in(kLook));
    if (fds[2].revents || (!of_peer && fds[0].revents)) return;
  }
}

}  // namespace cove::http
