#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/stream.h"

// Moving bytes between sockets and other descriptors.
namespace cove::http {

// The size in which bytes are moved through memory.
inline constexpr size_t kTransferPiece = 256 * 1024;

// All of it, into a descriptor that may be non-blocking.
Result<void> write_all(int fd, std::string_view data, milliseconds patience);

// A pipe through which the kernel moves bytes from a socket to a descriptor without copying them to us.
class SplicePipe {
 public:
  static Result<SplicePipe> create();
  // Some bytes off the socket; 0 at its end. Unsupported where this socket cannot, Unavailable where the peer is gone
  // or too slow.
  Result<size_t> take(int socket, uint64_t most, milliseconds patience);
  // What was taken, all of it; copies where this descriptor cannot.
  Result<void> give(int fd, size_t count, milliseconds patience);

 private:
  SplicePipe(UniqueFd read, UniqueFd write) : read_(std::move(read)), write_(std::move(write)) {}
  Result<void> give_by_copy(int fd, size_t count, milliseconds patience);

  UniqueFd read_;
  UniqueFd write_;
};

// A part of a regular file into a plain socket. Internal where the file is shorter than that.
Result<void> send_regular(int socket, int fd, uint64_t offset, uint64_t count, milliseconds patience);

bool is_unix(int socket);
// Sets the send buffer to what long transfers want. (Of TCP, the kernel does better by itself.)
void widen(int socket);

}  // namespace cove::http
