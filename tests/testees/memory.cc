// Memory of kinds that are easily forgotten when it is counted. Each attempt takes so many MiB as MOST says, which is
// more than the sandbox may have, and keeps them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

Outcome socket_buffers(int protocol) {
  struct rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  static char datagram[60'000];
  size_t taken = 0;
  for (int i = 0; i < 60'000 && taken < most(); ++i) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, protocol);
    if (fd < 0 && i == 0) return denied();
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

// In pieces, each of which is made to look small once it is full.
Outcome in_pieces(void (*hide)(char* piece)) {
  size_t taken = 0;
  for (; taken < most(); taken += kPiece) {
    void* memory = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return denied();
    hide(static_cast<char*>(memory));
  }
  return keep(taken);
}

void fill(char* piece) { std::memset(piece, 'x', kPiece); }

void fill_and_drop(char* piece) {
  fill(piece);
  ::madvise(piece, kPiece, MADV_DONTNEED);
}

void fill_and_unmap(char* piece) {
  fill(piece);
  ::munmap(piece + 4096, kPiece - 4096);
}

void have_it_filled(char* piece) {
  const pid_t child = ::fork();
  if (child == 0) {
    fill(piece);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

void fill_and_rename(char* piece) {
  constexpr int kSetVma = 0x53564d41;
  fill(piece);
  ::prctl(kSetVma, 0, piece, kPiece, "other");
  ::madvise(piece, kPiece, MADV_DONTNEED);
}

// Behind so many small mappings that their list is long: what is mapped later lies before it.
Outcome behind_others() {
  std::vector<void*> pieces(most() / kPiece + 1);
  for (void*& piece : pieces) {
    piece = ::mmap(nullptr, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) return denied();
  }
  for (int i = 0; i < 40'000; ++i)
    if (::mmap(nullptr, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
  for (void* piece : pieces) fill(static_cast<char*>(piece));
  return keep(pieces.size() * kPiece);
}

Outcome mapping_of_zeros() {
  const int fd = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  if (fd < 0) return denied();
  void* memory = ::mmap(nullptr, most() + kPiece, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return denied();
  for (size_t at = 0; at < most(); at += kPiece) fill_and_drop(static_cast<char*>(memory) + at);
  return keep(most());
}

// Of processes whose name is what a watcher looks for in their status.
Outcome named_like_a_figure() {
  constexpr int kProcesses = 3;
  ::prctl(PR_SET_NAME, "RssAnon: 0");
  const size_t size = most() / kProcesses;
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ::_exit(1);
    std::memset(memory, 'x', size);
    ::sleep(5);
    ::_exit(0);
  }
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    if (::wait(&status) < 0 || status != 0) return held("not all of them got it");
  }
  return done();
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

constexpr Attempt kAttempts[] = {{"udp_buffers", [] { return socket_buffers(IPPROTO_UDP); }},
                                 {"udp_lite_buffers", [] { return socket_buffers(IPPROTO_UDPLITE); }},
                                 {"dropped_mappings", [] { return in_pieces(fill_and_drop); }},
                                 {"shrunk_mappings", [] { return in_pieces(fill_and_unmap); }},
                                 {"mappings_of_the_dead", [] { return in_pieces(have_it_filled); }},
                                 {"renamed_mappings", [] { return in_pieces(fill_and_rename); }},
                                 {"mappings_behind_others", behind_others},
                                 {"mapping_of_zeros", mapping_of_zeros},
                                 {"named_like_a_figure", named_like_a_figure},
                                 {"memory_file", memory_file},
                                 {"shared_mapping", shared_mapping},
                                 {"system_v_memory", system_v_memory}};

}  // namespace

int main(int argc, char** argv) {
  refuse_outside();
  return run(argc, argv, kAttempts);
}
