#include "cli/output_buffer.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "run/stream.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr size_t kPortion = 256 * 1024;

}  // namespace

// A descriptor that poll reports as writable takes PIPE_BUF bytes without blocking. A file never blocks; a pipe is
// opened again in non-blocking mode and takes what it can.
OutputBuffer::OutputBuffer(int fd) : fd_(fd), portion_(PIPE_BUF) {
  struct stat info;
  if (::fstat(fd, &info) < 0) return;
  if (S_ISREG(info.st_mode)) portion_ = kPortion;
  if (!S_ISFIFO(info.st_mode)) return;
  own_.reset(::open(sys::fd_path(fd).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!own_) return;
  fd_ = own_.get();
  portion_ = kPortion;
}

pollfd OutputBuffer::wanted() const { return {empty() ? -1 : fd_, POLLOUT, 0}; }

void OutputBuffer::move(short revents) {
  if (revents != 0) write_portion();
}

void OutputBuffer::write_portion() {
  ssize_t count = ::write(fd_, pending_.data() + written_, std::min(size(), portion_));
  if (count >= 0)
    written_ += static_cast<size_t>(count);
  else if (errno != EAGAIN && errno != EINTR)
    error_ = errno;
  if (!broken() && !empty()) return;
  pending_.clear();
  written_ = 0;
}

bool OutputBuffer::unread() const { return is_unread(error_); }

void OutputBuffer::flush() {
  while (!empty()) {
    pollfd polled = wanted();
    ::poll(&polled, 1, -1);
    write_portion();
  }
}

Result<void> finish(OutputBuffer& out, OutputBuffer& err) {
  out.flush();
  err.flush();
  COVE_TRY(delivered(STDOUT_FILENO, out.error()));
  return delivered(STDERR_FILENO, err.error());
}

}  // namespace cove::cli
