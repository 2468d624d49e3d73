// What bench/net measures with, inside and outside of the networks that it compares:
//
//   net_probe serve ADDRESS PORT                 answers each connection: `d N` sends N bytes, `u N` takes them and
//   says so net_probe down|up NAME PORT BYTES            prints bytes per second net_probe connect NAME PORT TIMES
//   prints microseconds of lookup, connect and first byte, one line each net_probe hold NAME PORT COUNT opens that many
//   connections, each with an answer, prints how many; holds them
//                                                until its input ends
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kPiece = 256 << 10;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

addrinfo* look_up(const char* name, const char* port) {
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_family = AF_INET;
  if (int code = ::getaddrinfo(name, port, &wanted, &found)) {
    std::fprintf(stderr, "%s: %s\n", name, ::gai_strerror(code));
    std::exit(1);
  }
  return found;
}

int connect_to(const char* name, const char* port) {
  addrinfo* found = look_up(name, port);
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0) fail("connect");
  ::freeaddrinfo(found);
  return fd;
}

void send_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
}

void send_bytes(int fd, uint64_t count) {
  static const std::vector<char> piece(kPiece, 'x');
  while (count > 0) {
    ssize_t sent = ::send(fd, piece.data(), std::min<uint64_t>(count, kPiece), MSG_NOSIGNAL);
    if (sent <= 0) return;
    count -= static_cast<uint64_t>(sent);
  }
}

uint64_t take_bytes(int fd, uint64_t count) {
  std::vector<char> piece(kPiece);
  uint64_t taken = 0;
  while (taken < count) {
    ssize_t got = ::recv(fd, piece.data(), std::min<uint64_t>(count - taken, kPiece), 0);
    if (got <= 0) break;
    taken += static_cast<uint64_t>(got);
  }
  return taken;
}

// Orders are lines of 16 bytes, filled with blanks: what does not end a line could still become an HTTP request, which
// the gateway would wait for.
void answer(int fd) {
  char order[17] = {};
  while (::recv(fd, order, 16, MSG_WAITALL) == 16) {
    const uint64_t count = std::strtoull(order + 2, nullptr, 10);
    if (order[0] == 'd') send_bytes(fd, count);
    if (order[0] == 'u' && take_bytes(fd, count) == count) send_all(fd, "+", 1);
  }
  ::close(fd);
}

int serve(const char* address, const char* port) {
  addrinfo* where = look_up(address, port);
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener, where->ai_addr, where->ai_addrlen) != 0 || ::listen(listener, 4096) != 0) fail("listen");
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::thread(answer, fd).detach();
  }
}

void order(int fd, char what, uint64_t count) {
  char text[24];
  std::snprintf(text, sizeof text, "%c %-13llu\n", what, static_cast<unsigned long long>(count));
  send_all(fd, text, 16);
}

int transfer(char what, const char* name, const char* port, uint64_t bytes) {
  int fd = connect_to(name, port);
  order(fd, 'd', 1);
  if (take_bytes(fd, 1) != 1) fail("first byte");
  const Clock::time_point begin = Clock::now();
  order(fd, what, bytes);
  if (what == 'u') send_bytes(fd, bytes);
  const uint64_t wanted = what == 'u' ? 1 : bytes;
  if (take_bytes(fd, wanted) != wanted) fail("transfer");
  std::printf("%.0f\n", static_cast<double>(bytes) / seconds_since(begin));
  return 0;
}

int connect_often(const char* name, const char* port, int times) {
  for (int i = 0; i < times; ++i) {
    const Clock::time_point begin = Clock::now();
    int fd = connect_to(name, port);
    order(fd, 'd', 1);
    if (take_bytes(fd, 1) != 1) fail("first byte");
    std::printf("%.1f\n", seconds_since(begin) * 1e6);
    ::close(fd);
  }
  return 0;
}

int hold(const char* name, const char* port, size_t count) {
  const rlimit many = {20000, 20000};
  ::setrlimit(RLIMIT_NOFILE, &many);
  std::vector<int> held;
  while (held.size() < count) {
    held.push_back(connect_to(name, port));
    order(held.back(), 'd', 1);
  }
  size_t answered = 0;
  for (int fd : held) answered += take_bytes(fd, 1);
  std::printf("%zu\n", answered);
  std::fflush(stdout);
  char end;
  while (::read(STDIN_FILENO, &end, 1) > 0) continue;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 4) return serve(argv[2], argv[3]);
  if (argc != 5) {
    std::fputs("net_probe serve ADDRESS PORT | down|up NAME PORT BYTES | connect|hold NAME PORT COUNT\n", stderr);
    return 2;
  }
  if (what == "down" || what == "up") return transfer(what[0], argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  if (what == "connect") return connect_often(argv[2], argv[3], std::atoi(argv[4]));
  return hold(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
}
