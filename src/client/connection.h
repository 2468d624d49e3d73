#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "client/address.h"

namespace cove::client {

// Told how many bytes have gone over the connection since it was last called.
using Progress = std::function<void(uint64_t bytes)>;

// A stream socket to a server, read through a buffer. Blocking; one thread.
class Connection {
 public:
  // Unavailable where nobody listens. SIGPIPE is ignored from here on.
  static Result<Connection> open(const Address& address);
  explicit Connection(UniqueFd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  // How long to wait for the other side; negative: for as long as it takes. Then it is Unavailable.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  Result<void> write(std::string_view data);
  // `count` bytes of a file from where it stands; Invalid where it has fewer.
  Result<void> write_file(int file, uint64_t count, const Progress& progress);
  // Whether the other side has said something, or has gone.
  bool has_news() const;

  // What was read and not yet taken.
  std::string_view unread() const { return std::string_view(buffer_).substr(taken_); }
  void take(size_t count);
  // Waits for more; false where the other side has ended.
  Result<bool> fill();
  // Straight into `data`, past the buffer, which must be empty; 0 at the end.
  Result<size_t> read(char* data, size_t size);

  // The process that listens at a Unix socket.
  Result<pid_t> peer() const;

 private:
  Result<void> wait_for(short events) const;

  UniqueFd socket_;
  std::chrono::milliseconds patience_{-1};
  std::string buffer_;
  size_t taken_ = 0;
};

}  // namespace cove::client
