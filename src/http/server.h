#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/anonymous.h"
#include "http/router.h"

namespace cove::http {

struct ServerOptions {
  size_t max_connections = 1024;  // of each listener, so that a crowd at one leaves the others as they are
  size_t max_header_bytes = 32 * 1024;
  // From the first byte of a request to the end of its headers; also for the first byte of a connection, and for TLS.
  std::chrono::milliseconds header_patience{10'000};
  std::chrono::milliseconds idle_patience{75'000};  // between requests of one connection
  std::chrono::milliseconds body_patience{30'000};  // without any progress of a body, in or out
};

struct Tls {
  std::string certificate;  // PEM files
  std::string key;
};

// What a listener does beside its routes.
struct ListenerOptions {
  // Called before routing, on every request; returns false after having answered itself (auth, host checks, …).
  std::function<bool(Exchange&)> gate;
  // Answers where no route matches (404), the method is wrong (405; `allowed` is not empty), the request is malformed
  // (400, 408, 414, 431, 501, 505 with a reason; of the request, there is what could be read), or a handler threw or
  // left without an answer (500; the reason is for the log). Where it is missing or does not answer, a line of text
  // does.
  std::function<void(Exchange&, int status, const std::string& reason, const std::vector<std::string>& allowed)>
      problem;
  // Called once per request when it has been answered, for logs and metrics. Status 499: the client had gone before
  // there was an answer. No route: it was the gate or `problem` that answered.
  std::function<void(const Request&, const Route*, int status, std::chrono::nanoseconds)> done;
  std::optional<Tls> tls;
  // Where anybody can connect: bounds for those who have not shown who they are.
  std::optional<AnonymousLimits> strangers;
};

// An HTTP/1.1 server: a thread per connection from a cache of threads, keep-alive, pipelining-safe, chunked bodies,
// `Expect: 100-continue`. A stuck or slow peer holds only its own thread, and not longer than the patience. Beyond the
// cap of their listener, connections are answered 503 with Retry-After. Handlers run in threads with stacks of 256 KiB
// that block all signals: SIGPIPE does not reach them, though splice, sendfile and OpenSSL would raise it.
class Server {
 public:
  static Result<std::unique_ptr<Server>> create(ServerOptions options);
  virtual ~Server() = default;

  // Takes a listening socket (Unix or TCP; it becomes non-blocking); before `start` or after. Invalid where the
  // certificate is.
  virtual Result<void> listen(UniqueFd socket, std::shared_ptr<const Router> routes, ListenerOptions options) = 0;
  // Accepts in a thread of its own; returns at once.
  virtual Result<void> start() = 0;
  // No new connections or requests; what is being answered may go on for `grace` (waiting handlers wake with
  // Stopping), then is cut (they wake with Gone). Returns when no handler runs, so never call it from one. The path of
  // a Unix socket stays.
  virtual void stop(std::chrono::milliseconds grace) = 0;

  virtual size_t connections() const = 0;
};

// Listening sockets. `host` is an IP address, `localhost` (127.0.0.1) or `*`; port 0 chooses one. Exists where it is in
// use.
Result<UniqueFd> listen_tcp(const std::string& host, uint16_t port);
// Replaces a socket that nobody listens at; Exists where a server answers there.
Result<UniqueFd> listen_unix_stream(const std::string& path, unsigned mode);

}  // namespace cove::http
