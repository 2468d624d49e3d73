// Memory of kinds that are easily forgotten when it is counted. Each attempt takes so many MiB as MOST says, which is
// more than the sandbox may have, and keeps them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "testee.h"

namespace {

using namespace testee;

constexpr size_t kMiB = 1 << 20;
constexpr size_t kPiece = 16 * kMiB;

size_t most() { return static_cast<size_t>(std::atol(setting("MOST"))) * kMiB; }

// Long enough for a watcher to look.
Outcome keep(size_t taken) {
  if (taken < most()) return held("it got less");
  ::sleep(5);
  return done();
}

Outcome udp_buffers() {
  struct rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  static char datagram[60'000];
  size_t taken = 0;
  for (int i = 0; i < 60'000 && taken < most(); ++i) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const int wanted = 8 << 20;
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    if (fd < 0 || ::bind(fd, name, size) < 0 || ::getsockname(fd, name, &size) < 0) break;
    uint32_t counts[SK_MEMINFO_VARS] = {}, before = 1;
    // Until one more makes no difference.
    while (counts[SK_MEMINFO_RMEM_ALLOC] != before) {
      before = counts[SK_MEMINFO_RMEM_ALLOC];
      ::sendto(fd, datagram, sizeof datagram, 0, name, size);
      size = sizeof counts;
      if (::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &size) < 0) return denied();
      size = sizeof address;
    }
    taken += counts[SK_MEMINFO_RMEM_ALLOC];
  }
  return keep(taken);
}

Outcome memory_file() {
  const int fd = static_cast<int>(::syscall(SYS_memfd_create, "m", 0));
  if (fd < 0) return denied();
  std::vector<char> piece(kPiece, 'x');
  size_t taken = 0;
  for (ssize_t size = 1; taken < most() && size > 0; taken += static_cast<size_t>(std::max<ssize_t>(size, 0)))
    size = ::write(fd, piece.data(), piece.size());
  return keep(taken);
}

Outcome shared_mapping() {
  const size_t size = most();
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return denied();
  std::memset(memory, 'x', size);
  return keep(size);
}

// Detached again, so that it is part of no process.
Outcome system_v_memory() {
  size_t taken = 0;
  for (; taken < most(); taken += kPiece) {
    const int id = ::shmget(IPC_PRIVATE, kPiece, IPC_CREAT | 0600);
    void* memory = id < 0 ? nullptr : ::shmat(id, nullptr, 0);
    if (!memory || memory == reinterpret_cast<void*>(-1)) return denied();
    std::memset(memory, 'x', kPiece);
    ::shmdt(memory);
  }
  return keep(taken);
}

constexpr Attempt kAttempts[] = {{"udp_buffers", udp_buffers},
                                 {"memory_file", memory_file},
                                 {"shared_mapping", shared_mapping},
                                 {"system_v_memory", system_v_memory}};

}  // namespace

int main(int argc, char** argv) {
  refuse_outside();
  return run(argc, argv, kAttempts);
}
