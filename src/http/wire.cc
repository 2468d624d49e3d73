#include "http/wire.h"

#include <algorithm>
#include <cstring>

namespace cove::http {
namespace {

constexpr size_t kFirstSize = 8 * 1024;   // most requests fit
constexpr size_t kMostSize = 256 * 1024;  // for those who send a lot
constexpr size_t kLeastRoom = 4 * 1024;

}  // namespace

Wire::Wire(Stream& stream, const StopSignal& stop) : stream_(stream), stop_(stop), wanted_(kFirstSize) {}

void Wire::use(size_t count) {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

Wire::Arrival Wire::await(Clock::time_point deadline) {
  if (stopping()) return Arrival::Stopping;
  if (stream_.holds_bytes()) return Arrival::Bytes;
  pollfd fds[] = {{.fd = stream_.socket(), .events = POLLIN, .revents = 0},
                  {.fd = stop_fd(), .events = POLLIN, .revents = 0}};
  if (poll_until(fds, deadline) == 0) return Arrival::Timeout;
  return fds[1].revents ? Arrival::Stopping : Arrival::Bytes;
}

// Room behind the buffered bytes: moves them to the front, or grows, where there is little.
std::span<char> Wire::room() {
  if (buffer_.size() - end_ < kLeastRoom && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kLeastRoom) wanted_ = std::max(wanted_, end_ + kLeastRoom);
  if (buffer_.size() < wanted_) buffer_.resize(wanted_);
  return {buffer_.data() + end_, buffer_.size() - end_};
}

// Whoever fills all the room gets more of it.
void Wire::took(size_t count, size_t room) {
  end_ += count;
  if (count == room) wanted_ = std::max(wanted_, std::min(buffer_.size() * 2, kMostSize));
}

Result<size_t> Wire::fill(milliseconds patience) {
  std::span<char> space = room();
  size_t count = COVE_TRY(stream_.read(space, patience));
  took(count, space.size());
  return count;
}

Result<Stream::Attempt> Wire::try_fill() {
  std::span<char> space = room();
  Stream::Attempt attempt = COVE_TRY(stream_.try_read(space));
  took(attempt.bytes, space.size());
  return attempt;
}

}  // namespace cove::http
