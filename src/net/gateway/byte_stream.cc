#include "net/gateway/byte_stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cove::net {
namespace {

void set_linger(int fd, bool resets) {
  const linger value = {resets ? 1 : 0, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &value, sizeof value);
}

class PlainStream final : public ByteStream {
 public:
  using ByteStream::ByteStream;
  Attempt read(std::span<char> buffer) override { return socket_.read(buffer); }
  Attempt write(std::string_view data) override { return socket_.write(data); }
  Attempt shut() override {
    socket_.shut();
    return {Status::Moved, 0};
  }
  bool is_ready() const override { return true; }
  std::string why_broken() const override { return std::strerror(socket_.error()); }
  bool ended_cleanly() const override { return true; }
};

}  // namespace

RawSocket::RawSocket(UniqueFd fd, std::string first_bytes) : fd_(std::move(fd)), first_bytes_(std::move(first_bytes)) {
  const int yes = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  set_linger(fd_.get(), true);
}

RawSocket::Attempt RawSocket::explain() {
  if (errno == EAGAIN || errno == EINTR) return {Status::Blocked, 0};
  error_ = errno;
  return {Status::Broken, 0};
}

RawSocket::Attempt RawSocket::read(std::span<char> buffer) {
  if (!first_bytes_.empty()) {
    const size_t count = std::min(buffer.size(), first_bytes_.size());
    std::memcpy(buffer.data(), first_bytes_.data(), count);
    first_bytes_.erase(0, count);
    in_bytes_ += count;
    return {Status::Moved, count};
  }
  const ssize_t count = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0) return explain();
  in_bytes_ += static_cast<size_t>(count);
  return {count == 0 ? Status::Ended : Status::Moved, static_cast<size_t>(count)};
}

RawSocket::Attempt RawSocket::write(std::string_view data) {
  const ssize_t count = ::send(fd_.get(), data.data(), data.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0) return explain();
  out_bytes_ += static_cast<size_t>(count);
  return {Status::Moved, static_cast<size_t>(count)};
}

void RawSocket::shut() { ::shutdown(fd_.get(), SHUT_WR); }

void RawSocket::finish() { set_linger(fd_.get(), false); }

std::unique_ptr<ByteStream> ByteStream::plain(RawSocket socket) {
  return std::make_unique<PlainStream>(std::move(socket));
}

}  // namespace cove::net
