#pragma once

#include <sys/socket.h>

#include <memory>

#include "http/request_parser.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/wire.h"

namespace cove::http {

class LiveExchange;

// A listening socket and what is served there.
struct Listener {
  UniqueFd socket;
  std::shared_ptr<const Router> routes;
  ListenerOptions options;
  std::unique_ptr<TlsContext> tls;
  std::atomic<size_t> connections = 0;
  std::optional<AnonymousClients> strangers;
};

// Serves the requests of one connection, one after the other, until it ends.
class Connection {
 public:
  Connection(Stream& stream, Peer peer, const Listener& listener, const ServerOptions& options, const StopSignal& stop)
      : wire_(stream, stop), peer_(std::move(peer)), listener_(listener), options_(options) {}
  void serve();

 private:
  enum class Next { Request, Close };
  milliseconds patience_with(milliseconds usual) const;
  Next serve_one(milliseconds patience);
  void skip_empty_lines();
  Next answer(RequestParser& parser);
  Next refuse(RequestParser& parser, const Malformed& why);
  // The route that answered, or would have.
  const Route* dispatch(LiveExchange& exchange);
  void handle(LiveExchange& exchange, const Route*& route);
  void tell_problem(Exchange& exchange, int status, const std::string& reason, const std::vector<std::string>& allowed);
  void tell_done(const Request& request, const Route* route, int status, Clock::time_point since);
  void linger();

  Wire wire_;
  Peer peer_;
  const Listener& listener_;
  const ServerOptions& options_;
};

// Who is at the other end of a socket that was accepted from `address`.
Peer peer_of(int socket, const sockaddr_storage& address);

}  // namespace cove::http
