#include "client/connection.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "client/tls_tunnel.h"
#include "sys/file.h"

namespace cove::client {
namespace {

constexpr size_t kPortion = 65536;
constexpr size_t kFilePortion = 4 << 20;

bool nobody_there(int errnum) {
  return errnum == ENOENT || errnum == ECONNREFUSED || errnum == ETIMEDOUT || errnum == EHOSTUNREACH ||
         errnum == ENETUNREACH;
}

std::unexpected<Error> cannot_connect(const Address& address) {
  Error error = Error::from_errno(errno, concat("connect to the server at ", to_text(address)));
  if (nobody_there(error.errnum())) return fail(std::move(error).as(Code::Unavailable));
  return fail(std::move(error));
}

Result<UniqueFd> connect_to(const Address& address, const sockaddr* place, socklen_t size) {
  UniqueFd socket(::socket(place->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  int status;
  do {
    status = ::connect(socket.get(), place, size);
  } while (status < 0 && (errno == EINTR || errno == EAGAIN));
  if (status < 0) return cannot_connect(address);
  return socket;
}

// Only the user's own programs and root's: what is sent are commands and secrets. Root may name any server.
Result<void> check_listener(int socket, const std::string& path) {
  ucred listener = {};
  socklen_t size = sizeof listener;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &listener, &size) < 0) return fail_errno("getsockopt SO_PEERCRED");
  const uid_t own = ::geteuid();
  if (own == 0 || listener.uid == 0 || listener.uid == own) return {};
  return fail(Error(Code::Denied, concat("connect to ", path, ": the process that listens there belongs to user ",
                                         listener.uid, ", not to user ", own, " or root"))
                  .hint("name a server of your own with COVE_HOST"));
}

Result<UniqueFd> connect_unix(const Address& address) {
  sockaddr_un place = {};
  place.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof place.sun_path)
    return fail(Code::Invalid, concat("the socket's path ", address.path, " is too long"));
  std::memcpy(place.sun_path, address.path.data(), address.path.size());
  UniqueFd socket = COVE_TRY(connect_to(address, reinterpret_cast<sockaddr*>(&place), sizeof place));
  COVE_TRY(check_listener(socket.get(), address.path));
  return socket;
}

// The key, the commands and their output must not cross a network in clear. A static program has no name services:
// names are those of /etc/hosts. What was looked up is what is connected to.
Result<UniqueFd> connect_tcp(const Address& address) {
  const std::string number = number_of(address.host);
  if (!is_loopback(number)) return not_encrypted(address);
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(address.port);
  if (::inet_pton(AF_INET, number.c_str(), &v4.sin_addr) == 1)
    return connect_to(address, reinterpret_cast<sockaddr*>(&v4), sizeof v4);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(address.port);
  v6.sin6_addr = in6addr_loopback;
  return connect_to(address, reinterpret_cast<sockaddr*>(&v6), sizeof v6);
}

std::unexpected<Error> lost(std::string_view call) {
  return fail(Error::from_errno(errno, concat(call, " the server")).as(Code::Unavailable));
}

}  // namespace

Result<Connection> Connection::open(const Address& address) {
  ::signal(SIGPIPE, SIG_IGN);
  if (address.kind == Address::Kind::Tls) return Connection(COVE_TRY(open_tls_tunnel(address)));
  bool tcp = address.kind == Address::Kind::Tcp;
  UniqueFd socket = COVE_TRY(tcp ? connect_tcp(address) : connect_unix(address));
  int yes = 1;
  if (tcp) ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return Connection(std::move(socket));
}

Result<void> Connection::wait_for(short events) const {
  if (patience_.count() < 0) return {};
  pollfd polled = {socket_.get(), events, 0};
  int ready;
  do {
    ready = ::poll(&polled, 1, static_cast<int>(patience_.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return {};
  return fail(Code::Unavailable, concat("the server has not answered for ", patience_.count(), " ms"));
}

Result<void> Connection::write(std::string_view data) {
  while (!data.empty()) {
    COVE_TRY(wait_for(POLLOUT));
    ssize_t count = ::send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return lost("write to");
    data.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<void> Connection::write_file(int file, uint64_t count, const Progress& progress) {
  while (count > 0) {
    ssize_t sent = ::sendfile(socket_.get(), file, nullptr, std::min<uint64_t>(count, kFilePortion));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return lost("write to");
    if (sent < 0) return fail_errno("sendfile");
    if (sent == 0) return fail(Code::Invalid, "the file became shorter while it was sent");
    count -= static_cast<uint64_t>(sent);
    if (progress) progress(static_cast<uint64_t>(sent));
    if (has_news()) return fail(Code::Unavailable, "the server did not take all of it");
  }
  return {};
}

bool Connection::has_news() const {
  pollfd polled = {socket_.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

void Connection::take(size_t count) {
  taken_ += count;
  if (taken_ < buffer_.size()) return;
  buffer_.clear();
  taken_ = 0;
}

Result<bool> Connection::fill() {
  if (taken_ > 0) buffer_.erase(0, std::exchange(taken_, 0));
  const size_t size = buffer_.size();
  Result<size_t> count = 0;
  // Most answers are short: what is not read into is not touched.
  buffer_.resize_and_overwrite(size + kPortion, [&](char* data, size_t) {
    count = read(data + size, kPortion);
    return size + count.value_or(0);
  });
  if (!count) return fail(std::move(count).error());
  return *count > 0;
}

Result<size_t> Connection::read(char* data, size_t size) {
  while (true) {
    COVE_TRY(wait_for(POLLIN));
    ssize_t count = ::recv(socket_.get(), data, size, 0);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) return lost("read from");
  }
}

Result<pid_t> Connection::peer() const {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) return fail_errno("getsockopt");
  return credentials.pid;
}

}  // namespace cove::client
