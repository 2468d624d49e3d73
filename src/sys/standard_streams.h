#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace cove::sys {

// Must be called first in every program. If a program is started with a closed standard stream, the next file or socket
// it opens would get that number, and output would be written to it. Afterwards all three are open: for one that was
// closed, reading returns end of file and writing fails.
inline void keep_standard_streams() {
  constexpr int kFailed = 125;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDONLY) != fd) ::_exit(kFailed);  // children have it, too
  }
}

}  // namespace cove::sys
