// Two sandboxes side by side: `stay` leaves things in every shared place of its own and waits for the end of its input;
// the attempts, made in the other one, look for them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

constexpr key_t kKey = 0x636f7665;
constexpr uint16_t kPort = 7777;
constexpr const char* kFiles[] = {"/tmp/neighbour", "/dev/shm/neighbour", "/home/user/neighbour", "/var/tmp/neighbour",
                                  "/run/lock/neighbour"};

template <typename Use>
int with_abstract(Use use) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path + 1, "neighbour");
  int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  return use(socket, reinterpret_cast<sockaddr*>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 10));
}

template <typename Use>
int with_port(Use use) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  return use(socket, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(sizeof address));
}

int listen_at(int socket, const sockaddr* address, socklen_t size) {
  return ::bind(socket, address, size) < 0 ? -1 : ::listen(socket, 4);
}

int stay() {
  bool ok = true;
  auto check = [&](const char* what, bool succeeded) {
    if (!succeeded) std::printf("%s: %s; ", what, std::strerror(errno));
    ok &= succeeded;
  };
  for (const char* path : kFiles) {
    int fd = ::open(path, O_WRONLY | O_CREAT, 0666);
    check(path, fd >= 0 && ::write(fd, kMark, 11) == 11);
  }
  check("abstract socket", with_abstract(listen_at) == 0);
  check("port", with_port(listen_at) == 0);
  check("shmget", ::shmget(kKey, 4096, IPC_CREAT | 0666) >= 0);
  check("semget", ::semget(kKey, 1, IPC_CREAT | 0666) >= 0);
  // Where Landlock is up there are none.
  static_cast<void>(::mq_open("/neighbour", O_RDWR | O_CREAT, 0666, nullptr));
  std::puts(ok ? "ready" : "broken");
  std::fflush(stdout);
  char byte;
  while (::read(0, &byte, 1) > 0) {
  }
  return 0;
}

constexpr Attempt kAttempts[] = {
    {"tmp", [] { return read_from(kFiles[0]); }},
    {"shared_memory_file", [] { return read_from(kFiles[1]); }},
    {"home", [] { return read_from(kFiles[2]); }},
    {"var_tmp", [] { return read_from(kFiles[3]); }},
    {"lock", [] { return read_from(kFiles[4]); }},
    {"abstract_socket", [] { return call(with_abstract(::connect)); }},
    {"port", [] { return call(with_port(::connect)); }},
    {"system_v_memory", [] { return call(::shmget(kKey, 4096, 0)); }},
    {"system_v_semaphore", [] { return call(::semget(kKey, 1, 0)); }},
    {"message_queue", [] { return call(::mq_open("/neighbour", O_RDONLY)); }},
    {"signal", [] { return call(::kill(std::atoi(setting("NEIGHBOUR")), 9)); }},
    {"open_process", [] { return call(::syscall(SYS_pidfd_open, std::atoi(setting("NEIGHBOUR")), 0)); }},
};

}  // namespace

int main(int argc, char** argv) {
  refuse_outside();
  if (argc == 2 && std::strcmp(argv[1], "stay") == 0) return stay();
  return run(argc, argv, kAttempts);
}
