#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "net/openssl.h"

namespace cove::net {

// A non-blocking socket, with bytes that were read from it before. Closing it resets the connection, unless it was
// finished.
class RawSocket {
 public:
  enum class Status { Moved, Blocked, Ended, Broken };
  struct Attempt {
    Status status = Status::Blocked;
    size_t bytes = 0;
  };

  RawSocket(UniqueFd fd, std::string first_bytes);
  Attempt read(std::span<char> buffer);
  Attempt write(std::string_view data);
  void shut();    // ends our direction
  void finish();  // an orderly end when it is closed
  int fd() const { return fd_.get(); }
  int error() const { return error_; }  // errno of what broke
  uint64_t in_bytes() const { return in_bytes_; }
  uint64_t out_bytes() const { return out_bytes_; }

 private:
  Attempt explain();

  UniqueFd fd_;
  std::string first_bytes_;
  int error_ = 0;
  uint64_t in_bytes_ = 0, out_bytes_ = 0;
};

// One side of a flow: a socket with or without TLS. TLS shakes hands as part of reading and writing.
class ByteStream {
 public:
  using Status = RawSocket::Status;
  using Attempt = RawSocket::Attempt;

  explicit ByteStream(RawSocket socket) : socket_(std::move(socket)) {}
  virtual ~ByteStream() = default;
  static std::unique_ptr<ByteStream> plain(RawSocket socket);
  static std::unique_ptr<ByteStream> tls(RawSocket socket, TlsSession session);

  virtual Attempt read(std::span<char> buffer) = 0;
  virtual Attempt write(std::string_view data) = 0;
  // Ends our direction, after all that was written; Moved when that is done.
  virtual Attempt shut() = 0;
  // The handshake is over, and the peer proved to be who it should.
  virtual bool is_ready() const = 0;
  virtual std::string why_broken() const = 0;
  // The peer's end was told as such, and not just a connection that went away.
  virtual bool ended_cleanly() const = 0;

  // What a blocked read or write waits for: EPOLLIN or EPOLLOUT.
  uint32_t read_waits_for() const { return read_waits_for_; }
  uint32_t write_waits_for() const { return write_waits_for_; }
  RawSocket& socket() { return socket_; }

 protected:
  RawSocket socket_;
  uint32_t read_waits_for_ = EPOLLIN, write_waits_for_ = EPOLLOUT;
};

}  // namespace cove::net
