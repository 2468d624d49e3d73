#include "http/stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace cove::http {
namespace {

// So that milliseconds for poll do not overflow.
constexpr milliseconds kLongest{INT_MAX / 2};

int milliseconds_until(Clock::time_point deadline) {
  auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, kLongest.count()));
}

std::unexpected<Error> gone(const char* call) {
  return fail(Error::from_errno(errno, call).as(Code::Unavailable).note("the peer is gone"));
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

// Drops what has been written from the front of the pieces.
std::span<iovec> drop_front(std::span<iovec> pieces, size_t bytes) {
  while (!pieces.empty() && bytes >= pieces.front().iov_len) {
    bytes -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (bytes > 0) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + bytes;
    pieces.front().iov_len -= bytes;
  }
  return pieces;
}

class PlainStream final : public Stream {
 public:
  using Stream::Stream;
  bool plain() const override { return true; }

  Result<Attempt> try_read(std::span<char> buffer) override {
    for (;;) {
      ssize_t count = ::recv(socket(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count >= 0) return Attempt{.bytes = static_cast<size_t>(count)};
      if (would_block()) return Attempt{.blocked = POLLIN};
      if (errno != EINTR) return gone("recv");
    }
  }

  Result<Attempt> try_write(std::span<const iovec> pieces, More more) override {
    msghdr message = {};
    message.msg_iov = const_cast<iovec*>(pieces.data());  // sendmsg leaves it as it is
    message.msg_iovlen = std::min<size_t>(pieces.size(), IOV_MAX);
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more == More::Follows ? MSG_MORE : 0);
    for (;;) {
      ssize_t count = ::sendmsg(socket(), &message, flags);
      if (count >= 0) return Attempt{.bytes = static_cast<size_t>(count)};
      if (would_block()) return Attempt{.blocked = POLLOUT};
      if (errno != EINTR) return gone("sendmsg");
    }
  }
};

}  // namespace

int poll_until(std::span<pollfd> fds, Clock::time_point deadline) {
  for (;;) {
    int count = ::poll(fds.data(), fds.size(), milliseconds_until(deadline));
    if (count > 0) return count;
    if (count < 0 && errno != EINTR) return 0;
    if (Clock::now() >= deadline) return 0;
  }
}

bool poll_for(int fd, short events, Clock::time_point deadline) {
  pollfd one{.fd = fd, .events = events, .revents = 0};
  return poll_until({&one, 1}, deadline) > 0;
}

Clock::time_point deadline_in(milliseconds patience) {
  return Clock::now() + std::clamp(patience, milliseconds{0}, kLongest);
}

Result<size_t> Stream::read(std::span<char> buffer, milliseconds patience) {
  for (;;) {
    Attempt attempt = COVE_TRY(try_read(buffer));
    if (!attempt.blocked) return attempt.bytes;
    if (!poll_for(socket(), attempt.blocked, deadline_in(patience)))
      return fail(Code::Unavailable, "the peer sends nothing");
  }
}

Result<void> Stream::write(std::span<iovec> pieces, milliseconds patience, More more) {
  pieces = drop_front(pieces, 0);
  while (!pieces.empty()) {
    Attempt attempt = COVE_TRY(try_write(pieces, more));
    if (attempt.blocked && !poll_for(socket(), attempt.blocked, deadline_in(patience)))
      return fail(Code::Unavailable, "the peer takes nothing");
    pieces = drop_front(pieces, attempt.bytes);
  }
  return {};
}

Result<void> Stream::write(std::string_view data, milliseconds patience, More more) {
  iovec piece{.iov_base = const_cast<char*>(data.data()), .iov_len = data.size()};
  return write({&piece, 1}, patience, more);
}

void Stream::finish() { ::shutdown(socket(), SHUT_WR); }

void Stream::cut() {
  std::lock_guard lock(closing_);
  if (!socket_) return;
  linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  socket_.reset();
}

void Stream::abort() {
  std::lock_guard lock(closing_);
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
}

std::unique_ptr<Stream> make_plain_stream(UniqueFd socket) { return std::make_unique<PlainStream>(std::move(socket)); }

}  // namespace cove::http
