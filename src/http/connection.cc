#include "http/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "http/live_exchange.h"

namespace cove::http {
namespace {

constexpr int kClientGone = 499;  // as others log it
constexpr milliseconds kLinger{1000};

}  // namespace

void Connection::serve() {
  if (!wire_.stream().handshake(patience_with(options_.header_patience))) return;
  (void)wire_.try_fill();  // most clients send at once; whatever is wrong shows again below
  milliseconds patience = patience_with(options_.header_patience);
  while (serve_one(patience) == Next::Request) patience = patience_with(options_.idle_patience);
}

milliseconds Connection::patience_with(milliseconds usual) const {
  if (!listener_.options.strangers || wire_.stream().vouched()) return usual;
  return std::min(usual, listener_.options.strangers->patience);
}

Connection::Next Connection::serve_one(milliseconds patience) {
  RequestParser parser(options_.max_header_bytes);
  auto deadline = deadline_in(patience);
  bool begun = false;
  while (!wire_.stopping()) {
    if (!begun) skip_empty_lines();
    // Half of an empty line is none yet, and no request either.
    if (!begun && !wire_.buffered().empty() && wire_.buffered() != "\r") {
      begun = true;
      deadline = deadline_in(patience_with(options_.header_patience));
    }
    std::string_view input = wire_.buffered();
    auto whole = begun ? parser.parse_head(input) : false;
    wire_.use(wire_.buffered().size() - input.size());
    if (!whole) return refuse(parser, whole.error());
    if (*whole) return answer(parser);

    auto arrival = wire_.await(deadline);
    if (arrival == Wire::Arrival::Timeout && begun) return refuse(parser, {408, "the headers take too long"});
    if (arrival != Wire::Arrival::Bytes) return Next::Close;
    auto attempt = wire_.try_fill();
    if (!attempt || (attempt->bytes == 0 && !attempt->blocked)) return Next::Close;
  }
  return Next::Close;
}

// RFC 9112, 2.2: clients have been known to send one after a body.
void Connection::skip_empty_lines() {
  while (wire_.buffered().starts_with("\r\n")) wire_.use(2);
}

Connection::Next Connection::answer(RequestParser& parser) {
  auto since = Clock::now();
  LiveExchange exchange(wire_, parser, options_.body_patience);
  exchange.request().peer = peer_;
  const Route* route = dispatch(exchange);
  exchange.flush();
  tell_done(exchange.request(), route, exchange.begun() ? exchange.status() : kClientGone, since);
  if (exchange.finish()) return Next::Request;
  linger();
  return Next::Close;
}

Connection::Next Connection::refuse(RequestParser& parser, const Malformed& why) {
  auto since = Clock::now();
  LiveExchange exchange(wire_, parser, options_.body_patience);
  exchange.request().peer = peer_;
  exchange.close_after();
  tell_problem(exchange, why.status, why.reason, {});
  exchange.flush();
  tell_done(exchange.request(), nullptr, exchange.status(), since);
  linger();
  return Next::Close;
}

const Route* Connection::dispatch(LiveExchange& exchange) {
  const Route* route = nullptr;
  std::string failure = "the request was left without an answer";
  try {
    handle(exchange, route);
  } catch (const std::exception& exception) {
    failure = exception.what();
  } catch (...) {
    failure = "an exception of unknown type";
  }
  bool answered = exchange.begun() || exchange.wait(-1, milliseconds(0)) == Exchange::Wake::Gone;
  if (!answered) tell_problem(exchange, 500, failure, {});
  return route;
}

void Connection::handle(LiveExchange& exchange, const Route*& route) {
  if (listener_.options.gate && !listener_.options.gate(exchange)) return;
  auto found = listener_.routes->match(exchange.request());
  if (auto* match = std::get_if<Router::Match>(&found)) {
    route = match->route;
    exchange.request().captures = std::move(match->captures);
    route->handler(exchange);
  } else if (auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
    tell_problem(exchange, 405, "the method is not allowed here", wrong->allowed);
  } else {
    tell_problem(exchange, 404, "there is nothing here", {});
  }
}

void Connection::tell_problem(Exchange& exchange, int status, const std::string& reason,
                              const std::vector<std::string>& allowed) {
  try {
    if (listener_.options.problem) listener_.options.problem(exchange, status, reason, allowed);
  } catch (...) {
    // What it wanted to say is said below.
  }
  if (exchange.begun()) return;
  Headers headers{{"Content-Type", "text/plain; charset=utf-8"}};
  if (!allowed.empty()) headers.emplace_back("Allow", join(allowed, ", "));
  (void)exchange.respond(status, headers, concat(reason, "\n"));
}

void Connection::tell_done(const Request& request, const Route* route, int status, Clock::time_point since) {
  try {
    if (listener_.options.done) listener_.options.done(request, route, status, Clock::now() - since);
  } catch (...) {
    // A log that fails ends no connection.
  }
}

// Bytes that are unread when a socket is closed would reset the connection, and could take the answer with them: so the
// peer is given a while to see it and to end.
void Connection::linger() {
  if (wire_.stream().is_cut()) return;
  wire_.stream().finish();
  auto deadline = deadline_in(kLinger);
  char unwanted[16 * 1024];
  pollfd fds[] = {{.fd = wire_.stream().socket(), .events = POLLIN, .revents = 0},
                  {.fd = wire_.stop_fd(), .events = POLLIN, .revents = 0}};
  while (poll_until(fds, deadline) > 0 && !fds[1].revents) {
    if (::recv(fds[0].fd, unwanted, sizeof unwanted, MSG_DONTWAIT) <= 0) return;
  }
}

namespace {

// How many namespaces of processes it is in, from this one's on down; 0 where that cannot be told.
size_t namespaces_of(const std::string& process) {
  constexpr std::string_view kLine = "\nNSpid:";
  std::ifstream file(concat("/proc/", process, "/status"));
  const std::string status{std::istreambuf_iterator<char>(file), {}};
  size_t at = status.find(kLine);
  if (at == std::string::npos) return 0;
  std::string_view numbers = std::string_view(status).substr(at + kLine.size());
  numbers = numbers.substr(0, numbers.find('\n'));
  return static_cast<size_t>(std::ranges::count(numbers, '\t'));
}

// One that has gone before anybody could look is taken for nested; where a process can see only its own user's, nobody
// can be told apart.
bool is_nested(pid_t pid) {
  static const size_t own = namespaces_of("self");
  static const bool sees_all = namespaces_of("1") > 0;
  return sees_all && own > 0 && namespaces_of(std::to_string(pid)) != own;
}

}  // namespace

Peer peer_of(int socket, const sockaddr_storage& address) {
  Peer peer;
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    auto& in = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    peer.address = concat(std::string_view(text), ":", ntohs(in.sin_port));
  } else if (address.ss_family == AF_INET6) {
    auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof text);
    peer.address = concat("[", std::string_view(text), "]:", ntohs(in.sin6_port));
  } else {
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    peer.local = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0;
    peer.uid = credentials.uid;
    peer.pid = credentials.pid;
    peer.nested = peer.local && is_nested(credentials.pid);
  }
  return peer;
}

}  // namespace cove::http
