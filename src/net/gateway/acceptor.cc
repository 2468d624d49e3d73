#include "net/gateway/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "net/gateway/relay.h"

namespace cove::net {
namespace {

constexpr int kBatch = 64;
// For what the connections that are there need: servers, pipes.
constexpr uint64_t kReserve = 32;
// How long nothing is accepted where there are no descriptors.
constexpr std::chrono::milliseconds kPause{100};
// Towards the program inside: larger than what it is by itself, for downloads.
constexpr int kSendBuffer = 256 * 1024;
constexpr int kKeepAliveIdle = 120, kKeepAliveInterval = 30, kKeepAliveProbes = 4;

void set(int socket, int level, int option, int value) { ::setsockopt(socket, level, option, &value, sizeof value); }

// What is set on a listener holds for the connections that it accepts.
void prepare(int listener) {
  reset_on_close(listener);
  set(listener, SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  set(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(listener, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdle);
  set(listener, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveInterval);
  set(listener, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set(listener, IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Acceptor::Acceptor(Loop& loop, const NetworkSockets& sockets, uint64_t descriptors, Calls calls)
    : loop_(loop),
      steering_(sockets.steering),
      descriptors_(descriptors),
      listeners_{sockets.fds[NetworkSockets::kTcp4].get(), sockets.fds[NetworkSockets::kTcp6].get()},
      calls_(std::move(calls)) {
  for (int listener : listeners_)
    if (listener >= 0) prepare(listener);
  watch();
}

Acceptor::~Acceptor() {
  loop_.cancel(pause_);
  unwatch();
}

void Acceptor::watch() {
  for (int listener : listeners_)
    if (listener >= 0) (void)loop_.add(listener, EPOLLIN, [this, listener](uint32_t) { accept_batch(listener); });
}

void Acceptor::unwatch() {
  for (int listener : listeners_)
    if (listener >= 0) loop_.remove(listener);
}

void Acceptor::accept_batch(int listener) {
  for (int i = 0; i < kBatch; ++i)
    if (!accept_one(listener)) return;
}

// Whether there may be more.
bool Acceptor::accept_one(int listener) {
  UniqueFd client(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!client) {
    bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (exhausted && !calls_.exhausted()) pause();
    return errno == ECONNABORTED || errno == EINTR;
  }
  reset_on_close(client.get());  // one that came before the listener was prepared has not inherited it
  // Numbers are given out from the lowest on.
  if (static_cast<uint64_t>(client.get()) + kReserve >= descriptors_ && !calls_.exhausted()) return true;
  auto wanted = wanted_address(client.get(), steering_);
  if (wanted) calls_.connection(std::move(client), *wanted);
  return true;
}

void Acceptor::pause() {
  unwatch();
  pause_ = loop_.after(kPause, [this] { watch(); });
}

}  // namespace cove::net
