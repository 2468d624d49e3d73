#include "engine/stream.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/file.h"

namespace cove {
namespace {

constexpr size_t kPortion = 65536;

bool is_file(int fd) {
  struct stat info;
  return fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

OutputStream::OutputStream(UniqueFd source, int target, uint64_t retained)
    : source_(std::move(source)), target_(target), target_is_file_(is_file(target)), retained_(retained) {
  if (source_) static_cast<void>(sys::set_nonblocking(source_.get()));
}

pollfd OutputStream::wanted() const {
  if (!pending_.empty()) return {target_, POLLOUT, 0};
  return {source_.get(), POLLIN, 0};
}

uint64_t OutputStream::move(short revents) {
  if (revents == 0) return 0;
  if (!pending_.empty()) return write_pending(), 0;
  return read_portion();
}

uint64_t OutputStream::read_portion() {
  char buffer[kPortion];
  ssize_t count = ::read(source_.get(), buffer, sizeof buffer);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) {  // a terminal whose last user is gone answers EIO
    source_.reset();
    return 0;
  }
  std::string_view data(buffer, static_cast<size_t>(count));
  retained_.add(data);
  if (target_ >= 0) pending_ = data;
  if (target_is_file_) write_pending();
  return data.size();
}

// The target may be shared with others, so it is not made non-blocking: a pipe that poll calls writable takes
// PIPE_BUF bytes without waiting.
void OutputStream::write_pending() {
  size_t most = target_is_file_ ? pending_.size() : std::min<size_t>(pending_.size(), PIPE_BUF);
  ssize_t count = ::write(target_, pending_.data(), most);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) {
    // Nobody reads any more: the program must learn it as it would have without us.
    pending_.clear();
    source_.reset();
    return;
  }
  pending_.erase(0, static_cast<size_t>(count));
}

uint64_t OutputStream::drain() {
  uint64_t total = 0;
  // Bounded by what the pipe held when the program ended, give or take: an orphan may go on writing.
  for (int i = 0; i < 64 && source_; ++i) {
    while (!pending_.empty()) {
      pollfd polled = {target_, POLLOUT, 0};
      ::poll(&polled, 1, -1);
      write_pending();
    }
    uint64_t count = read_portion();
    if (count == 0) break;
    total += count;
  }
  while (!pending_.empty()) write_pending();
  source_.reset();
  return total;
}

InputStream::InputStream(int source, UniqueFd target) : source_(source), target_(std::move(target)) {
  if (target_) static_cast<void>(sys::set_nonblocking(target_.get()));
  if (source_ < 0) target_.reset();
}

pollfd InputStream::wanted() const {
  if (!pending_.empty()) return {target_.get(), POLLOUT, 0};
  return {source_, POLLIN, 0};
}

void InputStream::move(short revents) {
  if (revents == 0) return;
  if (pending_.empty()) {
    char buffer[kPortion];
    ssize_t count = ::read(source_, buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return target_.reset();
    pending_.assign(buffer, static_cast<size_t>(count));
  }
  ssize_t count = ::write(target_.get(), pending_.data(), pending_.size());
  if (count > 0) pending_.erase(0, static_cast<size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) target_.reset();
}

}  // namespace cove
