#include "http/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <unordered_set>

#include "base/text.h"
#include "http/connection.h"
#include "http/refused.h"
#include "http/thread_cache.h"

namespace cove::http {
namespace {

constexpr milliseconds kForever = milliseconds::max();
constexpr milliseconds kNoDescriptors{100};  // between attempts to accept when there are none left

struct Arrival {
  UniqueFd socket;
  sockaddr_storage address = {};
};

Result<void> watch(int epoll, int fd, void* tag) {
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = tag;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

void send_at_once(const Arrival& arrival) {
  int on = 1;
  if (arrival.address.ss_family != AF_UNIX)
    ::setsockopt(arrival.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

class LiveServer final : public Server {
 public:
  explicit LiveServer(ServerOptions options) : options_(options), builders_([this] { return await_connection(); }) {}
  ~LiveServer() override { stop(milliseconds(0)); }

  Result<void> prepare() {
    stop_.fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop_.fd) return fail_errno("eventfd");
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_) return fail_errno("epoll_create1");
    return watch(epoll_.get(), stop_.fd.get(), nullptr);
  }

  Result<void> listen(UniqueFd socket, std::shared_ptr<const Router> routes, ListenerOptions options) override;
  Result<void> start() override { return builders_.start(); }
  void stop(milliseconds grace) override;
  size_t connections() const override { return connections_.load(std::memory_order_relaxed); }

 private:
  // The leader's part.
  Crew::Work await_connection();
  Crew::Work accept_from(Listener& listener);
  // The part of who serves.
  void serve(Arrival arrival, Listener& listener);
  void enter(Stream& stream, Listener& listener, const sockaddr_storage& address);
  void leave(Stream& stream, Listener& listener);
  void abort_all();

  const ServerOptions options_;
  StopSignal stop_;
  UniqueFd epoll_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::unordered_set<Stream*> streams_;
  bool aborting_ = false;
  std::atomic<size_t> connections_ = 0;
  Refused refused_;  // the leader's
  Crew builders_;
};

Result<void> LiveServer::listen(UniqueFd socket, std::shared_ptr<const Router> routes, ListenerOptions options) {
  if (stop_.set) return fail(Code::Unavailable, "the server is stopping");
  auto listener = std::make_unique<Listener>();
  if (options.tls) listener->tls = COVE_TRY(TlsContext::create(*options.tls));
  listener->socket = std::move(socket);
  listener->routes = std::move(routes);
  listener->options = std::move(options);
  if (listener->options.strangers) listener->strangers.emplace(*listener->options.strangers);
  if (::fcntl(listener->socket.get(), F_SETFL, O_RDWR | O_NONBLOCK) < 0)
    return fail_errno("fcntl the listening socket");
  std::lock_guard lock(mutex_);
  COVE_TRY(watch(epoll_.get(), listener->socket.get(), listener.get()));
  listeners_.push_back(std::move(listener));
  return {};
}

Crew::Work LiveServer::await_connection() {
  while (!stop_.set) {
    epoll_event event = {};
    int count = ::epoll_wait(epoll_.get(), &event, 1, refused_.milliseconds_to_next());
    refused_.close_old();
    if (count <= 0 || event.data.ptr == nullptr) continue;
    if (auto work = accept_from(*static_cast<Listener*>(event.data.ptr))) return work;
  }
  refused_.close_all();
  return {};
}

Crew::Work LiveServer::accept_from(Listener& listener) {
  Arrival arrival;
  socklen_t size = sizeof arrival.address;
  arrival.socket.reset(::accept4(listener.socket.get(), reinterpret_cast<sockaddr*>(&arrival.address), &size,
                                 SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!arrival.socket) {
    bool none_left = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    if (none_left) poll_for(stop_.fd.get(), POLLIN, deadline_in(kNoDescriptors));
    return {};
  }
  if (listener.connections >= options_.max_connections) {
    refused_.add(std::move(arrival.socket), listener.tls ? Refused::Answer::No : Refused::Answer::Yes);
    return {};
  }
  ++listener.connections;
  ++connections_;
  return [this, arrival = std::move(arrival), &listener]() mutable { serve(std::move(arrival), listener); };
}

void LiveServer::serve(Arrival arrival, Listener& listener) {
  send_at_once(arrival);
  Peer peer = peer_of(arrival.socket.get(), arrival.address);
  peer.encrypted = listener.tls != nullptr;
  Result<std::unique_ptr<Stream>> stream =
      listener.tls ? listener.tls->wrap(std::move(arrival.socket)) : make_plain_stream(std::move(arrival.socket));
  if (stream) {
    enter(**stream, listener, arrival.address);
    Connection(**stream, std::move(peer), listener, options_, stop_).serve();
    leave(**stream, listener);
  }
  --listener.connections;
  --connections_;
}

void LiveServer::enter(Stream& stream, Listener& listener, const sockaddr_storage& address) {
  std::lock_guard lock(mutex_);
  streams_.insert(&stream);
  if (aborting_) stream.abort();
  if (!listener.strangers) return;
  if (Stream* other = listener.strangers->add(stream, address)) other->abort();
}

void LiveServer::leave(Stream& stream, Listener& listener) {
  std::lock_guard lock(mutex_);
  streams_.erase(&stream);
  if (listener.strangers) listener.strangers->remove(stream);
}

void LiveServer::abort_all() {
  std::lock_guard lock(mutex_);
  aborting_ = true;
  for (Stream* stream : streams_) stream->abort();
}

void LiveServer::stop(milliseconds grace) {
  stop_.set = true;
  uint64_t one = 1;
  (void)!::write(stop_.fd.get(), &one, sizeof one);
  builders_.dismiss();
  if (!builders_.wait_until_left(grace)) {
    abort_all();
    builders_.wait_until_left(kForever);
  }
  std::lock_guard lock(mutex_);
  listeners_.clear();
}

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerOptions options) {
  auto server = std::make_unique<LiveServer>(options);
  COVE_TRY(server->prepare());
  return server;
}

}  // namespace cove::http
