#include "http/transfer.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.h"

namespace cove::http {
namespace {

constexpr int kPipeSize = 1024 * 1024;
constexpr uint64_t kMostAtOnce = 0x7ffff000;  // what one sendfile moves

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

// After a call that failed: nothing where it is worth trying again.
Result<void> wait_to_retry(int fd, short event, milliseconds patience, const char* call) {
  if (errno == EINTR) return {};
  if (!would_block()) return fail_errno(call);
  if (poll_for(fd, event, deadline_in(patience))) return {};
  return fail(Code::Unavailable, concat(call, ": no progress"));
}

// The same, for a socket: any failure means that the peer is gone.
Result<void> wait_for_peer(int socket, short event, milliseconds patience, const char* call) {
  auto waited = wait_to_retry(socket, event, patience, call);
  if (!waited) return fail(std::move(waited).error().as(Code::Unavailable));
  return {};
}

}  // namespace

Result<void> write_all(int fd, std::string_view data, milliseconds patience) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0) {
      COVE_TRY(wait_to_retry(fd, POLLOUT, patience, "write"));
      continue;
    }
    data.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<SplicePipe> SplicePipe::create() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe2");
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeSize);  // the usual size does too
  return SplicePipe(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Result<size_t> SplicePipe::take(int socket, uint64_t most, milliseconds patience) {
  size_t count = std::min<uint64_t>(most, kPipeSize);
  for (;;) {
    ssize_t taken = ::splice(socket, nullptr, write_.get(), nullptr, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (taken >= 0) return static_cast<size_t>(taken);
    if (errno == EINVAL || errno == EOPNOTSUPP) return fail(Code::Unsupported, "splice from this socket");
    COVE_TRY(wait_for_peer(socket, POLLIN, patience, "splice from the peer"));
  }
}

Result<void> SplicePipe::give(int fd, size_t count, milliseconds patience) {
  while (count > 0) {
    ssize_t given = ::splice(read_.get(), nullptr, fd, nullptr, count, SPLICE_F_MOVE);
    if (given < 0 && errno == EINVAL) return give_by_copy(fd, count, patience);
    if (given < 0) {
      COVE_TRY(wait_to_retry(fd, POLLOUT, patience, "splice into the file"));
      continue;
    }
    count -= static_cast<size_t>(given);
  }
  return {};
}

Result<void> SplicePipe::give_by_copy(int fd, size_t count, milliseconds patience) {
  std::vector<char> piece(std::min(count, kTransferPiece));
  while (count > 0) {
    ssize_t got = ::read(read_.get(), piece.data(), std::min(count, piece.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail_errno("read from the pipe");
    COVE_TRY(write_all(fd, {piece.data(), static_cast<size_t>(got)}, patience));
    count -= static_cast<size_t>(got);
  }
  return {};
}

Result<void> send_regular(int socket, int fd, uint64_t offset, uint64_t count, milliseconds patience) {
  off_t at = static_cast<off_t>(offset);
  while (count > 0) {
    ssize_t sent = ::sendfile(socket, fd, &at, std::min(count, kMostAtOnce));
    if (sent == 0) return fail(Code::Internal, "the file became shorter while it was sent");
    if (sent < 0) {
      COVE_TRY(wait_for_peer(socket, POLLOUT, patience, "sendfile"));
      continue;
    }
    count -= static_cast<uint64_t>(sent);
  }
  return {};
}

bool is_unix(int socket) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

void widen(int socket) {
  if (!is_unix(socket)) return;
  int bytes = 1024 * 1024;
  ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

}  // namespace cove::http
