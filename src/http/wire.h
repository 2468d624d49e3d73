#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "http/stream.h"

namespace cove::http {

// How a server tells its threads that it stops: `fd` is readable from then on.
struct StopSignal {
  UniqueFd fd;  // an eventfd that nobody reads
  std::atomic<bool> set = false;
};

// One connection's bytes: its stream, and what was read from it before it was wanted.
class Wire {
 public:
  Wire(Stream& stream, const StopSignal& stop);

  Stream& stream() { return stream_; }
  const Stream& stream() const { return stream_; }
  bool stopping() const { return stop_.set.load(std::memory_order_relaxed); }
  int stop_fd() const { return stop_.fd.get(); }

  std::string_view buffered() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // Drops bytes off the front of the buffered ones.
  void use(size_t count);

  // Whether bytes come before the deadline, without reading them.
  enum class Arrival { Bytes, Timeout, Stopping };
  Arrival await(Clock::time_point deadline);
  // Reads what is there into the buffer, waiting for it; 0 at the end.
  Result<size_t> fill(milliseconds patience);
  // The same without waiting: `blocked` where nothing has come.
  Result<Stream::Attempt> try_fill();

 private:
  std::span<char> room();
  void took(size_t count, size_t room);

  Stream& stream_;
  const StopSignal& stop_;
  std::vector<char> buffer_;
  size_t wanted_;  // the size of the buffer
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace cove::http
