#include "run/stream.h"

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

constexpr int kWidePipe = 1 << 20;
constexpr char kEndKey = 'd' & 0x1f;

// The caller's pipe is opened again in non-blocking mode, so that the caller's own descriptor is unchanged.
Target open_target(int fd) {
  struct stat info;
  if (fd < 0 || ::fstat(fd, &info) < 0) return {fd, {}, PIPE_BUF};
  if (S_ISREG(info.st_mode)) return {fd, {}, kPortion};
  if (!S_ISFIFO(info.st_mode)) return {fd, {}, PIPE_BUF};
  UniqueFd again(::open(sys::fd_path(fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!again) return {fd, {}, PIPE_BUF};
  int number = again.get();
  return {number, std::move(again), kPortion};
}

}  // namespace

bool is_unread(int error) { return error == EPIPE || error == EIO; }

Result<void> delivered(int fd, int error) {
  if (error == 0 || is_unread(error)) return {};
  return fail(Error::from_errno(error, fd == STDOUT_FILENO ? "write to standard output" : "write to standard error"));
}

OutputStream::OutputStream(UniqueFd source, int target, uint64_t retained)
    : source_(std::move(source)), target_(open_target(target)), retained_(retained) {
  if (source_) static_cast<void>(sys::set_nonblocking(source_.get()));
}

pollfd OutputStream::wanted() const {
  if (!pending_.empty()) return {target_.fd, POLLOUT, 0};
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
  if (count <= 0) {  // a terminal whose last user has closed it returns EIO
    source_.reset();
    return 0;
  }
  std::string_view data(buffer, static_cast<size_t>(count));
  retained_.add(data);
  // If a program fills its pipe, the pipe is enlarged.
  if (data.size() == kPortion && !widened_) {
    widened_ = true;
    ::fcntl(source_.get(), F_SETPIPE_SZ, kWidePipe);
  }
  if (target_.fd >= 0) {
    pending_ = data;
    if (target_.portion > PIPE_BUF) write_pending();
  }
  return data.size();
}

// The target may be shared with others, so it is not made non-blocking: a descriptor that poll reports as writable
// takes PIPE_BUF bytes without blocking, and a pipe that was opened again takes what it can.
void OutputStream::write_pending() {
  ssize_t count = ::write(target_.fd, pending_.data(), std::min(pending_.size(), target_.portion));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) {
    pending_.clear();
    if (is_unread(errno)) {
      // The reader is gone: the program gets SIGPIPE, as it would from its own pipe.
      source_.reset();
    } else {
      error_ = errno;
      target_ = {};
    }
    return;
  }
  pending_.erase(0, static_cast<size_t>(count));
}

void OutputStream::flush() {
  while (!pending_.empty()) {
    pollfd polled = {target_.fd, POLLOUT, 0};
    ::poll(&polled, 1, -1);
    write_pending();
  }
}

uint64_t OutputStream::drain() {
  uint64_t total = 0;
  // Limited to about what the pipe contained when the program ended, because an orphan may keep writing.
  for (int i = 0; i < 64; ++i) {
    flush();
    uint64_t count = source_ ? read_portion() : 0;
    if (count == 0) break;
    total += count;
  }
  flush();
  source_.reset();
  return total;
}

InputStream::InputStream(int source, UniqueFd target, End end)
    : source_(source), target_(std::move(target)), end_(end) {
  if (target_) static_cast<void>(sys::set_nonblocking(target_.get()));
  if (source_ < 0) target_.reset();
}

pollfd InputStream::wanted() const {
  if (!pending_.empty()) return {target_.get(), POLLOUT, 0};
  return {ended_ ? -1 : source_, POLLIN, 0};
}

void InputStream::press_end_key() {
  if (::write(target_.get(), &kEndKey, 1) < 0 && errno != EAGAIN && errno != EINTR) target_.reset();
}

void InputStream::move(short revents) {
  if (revents == 0) return;
  if (pending_.empty()) {
    char buffer[kPortion];
    ssize_t count = ::read(source_, buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      ended_ = true;
      if (end_ == End::Close) target_.reset();
      return;
    }
    pending_.assign(buffer, static_cast<size_t>(count));
  }
  ssize_t count = ::write(target_.get(), pending_.data(), pending_.size());
  if (count > 0) pending_.erase(0, static_cast<size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) target_.reset();
}

}  // namespace cove
