#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cove::sys {

// The first thing that a program does. Whoever starts it with one of the three standard streams closed would have it
// take the next file or socket that it opens for that stream, and write there what somebody else's program prints.
// Afterwards all three are there: of one that was closed, reading is at its end and writing fails.
inline void keep_standard_streams() {
  constexpr int kFailed = 125;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDONLY) != fd) ::_exit(kFailed);  // children have it, too
  }
}

}  // namespace cove::sys
