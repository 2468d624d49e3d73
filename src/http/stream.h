#pragma once

#include <poll.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::http {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// poll(2) until the deadline, whatever signals come; how many are ready, 0 when time is up.
int poll_until(std::span<pollfd> fds, Clock::time_point deadline);
// The same for one descriptor and one event.
bool poll_for(int fd, short events, Clock::time_point deadline);
// From now; `patience` may be as long as it likes.
Clock::time_point deadline_in(milliseconds patience);

// One connected socket, in the clear or encrypted. It is non-blocking inside; `read` and `write` block, but never
// longer than the patience without any progress. Used by one thread, but for `abort`.
class Stream {
 public:
  // What one attempt did: so many bytes; or it has to wait for `blocked` (a poll event); or, with neither, the end.
  struct Attempt {
    size_t bytes = 0;
    short blocked = 0;
  };
  enum class More { Follows, No };  // Follows: more is written at once, so a packet may wait to be filled

  explicit Stream(UniqueFd socket) : socket_(std::move(socket)) {}
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // What comes before the first byte; Unavailable where it fails or takes too long.
  virtual Result<void> handshake(milliseconds) { return {}; }
  virtual Result<Attempt> try_read(std::span<char> buffer) = 0;
  virtual Result<Attempt> try_write(std::span<const iovec> pieces, More more) = 0;
  // Bytes have come that poll does not tell of.
  virtual bool holds_bytes() const { return false; }
  // The socket carries the bytes as they are: splice and sendfile may be used on it.
  virtual bool plain() const = 0;
  // Says that nothing more will be written.
  virtual void finish();

  // Some bytes; 0 at the end. Unavailable when the peer is gone or too slow.
  Result<size_t> read(std::span<char> buffer, milliseconds patience);
  // All of it. The pieces are used up on the way.
  Result<void> write(std::span<iovec> pieces, milliseconds patience, More more = More::No);
  Result<void> write(std::string_view data, milliseconds patience, More more = More::No);

  // Whether a request has shown who is at the other end; set once, read by other threads.
  void vouch() { vouched_.store(true, std::memory_order_relaxed); }
  bool vouched() const { return vouched_.load(std::memory_order_relaxed); }

  int socket() const { return socket_.get(); }
  bool is_cut() const { return !socket_; }
  // Ends the connection with a reset (TCP) or at once (Unix).
  void cut();
  // From another thread: all that waits for the peer wakes up and finds it gone.
  void abort();

 private:
  std::atomic<bool> vouched_ = false;
  std::mutex closing_;
  UniqueFd socket_;
};

// A socket in the clear; it is non-blocking already.
std::unique_ptr<Stream> make_plain_stream(UniqueFd socket);

}  // namespace cove::http
